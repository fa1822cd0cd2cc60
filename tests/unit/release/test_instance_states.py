"""The state of each instance of an entity, and that the one that answers is the chooser's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from daicho.errors import BeingBuilt
from daicho.layout.backfill_state import BackfillState
from daicho.plan import AggregatePlan, Condition, CounterPlan, Ledger, ListingPlan, Part, SearchPlan
from daicho.query.instance_chooser import InstanceChooser
from daicho.release.instance_states import InstanceState, find_answering, list_instance_states
from daicho.runtime.clock import utc_now
from daicho.storage.item_cache import ItemCache
from tests.support.memory_stores import MemoryTable
from tests.support.sample_members import LISTED, PLAIN, disable, number

COUNT = AggregatePlan("count", 0, "count", None, (Part("team"),), ())
VOTES = CounterPlan("votes", 0, (Part("team"),), (), 4)
MEMBER = replace(PLAIN, listings=(LISTED,), aggregates=(COUNT,), counters=(VOTES,))
SHARDED = replace(MEMBER, listings=(replace(LISTED, shards=4),))
RESHAPED = replace(MEMBER, listings=(replace(LISTED, order=("name",)),))
RANKED = replace(MEMBER, aggregates=(replace(COUNT, ranked=True),))
FILTERED = replace(MEMBER, aggregates=(replace(COUNT, where=Condition("name", ("a",))),))
HISTORIES = {
    "equal": (MEMBER, MEMBER),
    "added": (PLAIN, MEMBER),
    "replaced": (MEMBER, SHARDED),
    "reshaped": (MEMBER, RESHAPED),
    "ranked": (MEMBER, RANKED),
    "filtered": (MEMBER, FILTERED),
    "removed": (MEMBER, PLAIN),
    "added and replaced": (PLAIN, MEMBER, SHARDED),
}


def describe(ledger: Ledger, oldest: int | None) -> dict[str, str]:
    """The states of the newest generation, by instance."""
    newest = ledger.newest_generation("Member")
    state = None if oldest is None else BackfillState("Member", oldest, newest.number)
    return {
        f"{status.kind} {status.declaration}@{status.since}": status.state.value
        for status in list_instance_states(newest.plan, state, ledger)
    }


@pytest.mark.parametrize(
    ("oldest", "newer", "older"),
    [
        (1, InstanceState.BUILDING, InstanceState.RETIRING_ANSWERS),
        (2, InstanceState.SERVING, InstanceState.RETIRING),
        (None, InstanceState.BUILDING, InstanceState.RETIRING_ANSWERS),
    ],
)
def test_a_replaced_instance_answers_until_its_successor_is_complete(
    oldest: int | None, newer: InstanceState, older: InstanceState
) -> None:
    states = describe(number(MEMBER, SHARDED), oldest)
    assert states["listing listed@2"] == newer
    assert states["listing listed@1"] == older
    assert newer.answers is not older.answers


def test_an_instance_of_another_question_does_not_answer() -> None:
    states = describe(number(MEMBER, RESHAPED), 1)
    assert states["listing listed@2"] == InstanceState.BUILDING
    assert states["listing listed@1"] == InstanceState.RETIRING


def test_a_table_without_backfill_items_answers_with_what_it_may_lack() -> None:
    states = describe(number(PLAIN, MEMBER), None)
    assert states["listing listed@2"] == InstanceState.UNPROVEN
    assert states["search search@1"] == InstanceState.SERVING
    assert InstanceState.UNPROVEN.answers


@pytest.mark.parametrize("oldest", [1, 2, 3, None])
@pytest.mark.parametrize("history", HISTORIES)
def test_the_instance_that_answers_is_the_one_that_the_api_chooses(
    history: str, oldest: int | None
) -> None:
    ledger, table = number(*HISTORIES[history]), MemoryTable()
    newest = ledger.newest_generation("Member")
    state = None
    if oldest is not None:
        state = BackfillState("Member", min(oldest, newest.number), newest.number)
        table.put(state.to_item())
    chooser = InstanceChooser(table, ledger, ItemCache(utc_now))
    plan = newest.plan
    choices: dict[str, Callable[[], SearchPlan | ListingPlan | AggregatePlan]] = {
        **{each.name: partial(chooser.choose_search, plan, each.name) for each in plan.searches},
        **{each.name: partial(chooser.choose_listing, plan, each.name) for each in plan.listings},
        **{
            each.name: partial(chooser.choose_aggregate, plan, each.name, ranked=each.ranked)
            for each in plan.aggregates
        },
    }
    for name, choose in choices.items():
        try:
            chosen: object = choose()
        except BeingBuilt:
            chosen = None
        assert find_answering(plan, name, state, ledger) == chosen, name
    assert choices


def test_disabled_and_purged_instances_do_not_answer() -> None:
    ledger = disable(MEMBER, SHARDED)
    plan = ledger.newest_generation("Member").plan
    state = BackfillState("Member", 3, 3, disabled=frozenset({"listed@1"}))
    for purged, expected in ((frozenset[str](), "disabled"), (frozenset({"listed@1"}), "purged")):
        *_, last = list_instance_states(plan, replace(state, purged=purged), ledger)
        assert (last.declaration, last.kind, last.since) == ("listed", "listing", 1)
        assert (last.state.value, last.state.answers) == (expected, False)
    assert "listing listed@1" not in describe(ledger, 3)
