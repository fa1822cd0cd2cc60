"""Which instance answers: the newest complete one, and none that was never built."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from daicho.errors import BeingBuilt
from daicho.layout.backfill_state import BackfillState
from daicho.plan import AggregatePlan, Condition, Ledger, ListingPlan, Part, ThroughPlan
from daicho.query.instance_chooser import InstanceChooser
from daicho.runtime.clock import utc_now
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.item_cache import ItemCache
from tests.support.memory_stores import MemoryTable
from tests.support.sample_members import LISTED, PLAIN, WITH_LIST, number

THROUGH_TEAM = ThroughPlan("team", "Team", "name", "text", "listed")


class CountingTable(MemoryTable):
    """Counts reads of single items."""

    reads = 0

    def get(self, key: ItemKey, *, consistent: bool = False, **_: Any) -> Image | None:
        self.reads += 1
        return super().get(key, consistent=consistent)


def choose(ledger: Ledger, oldest: int | None = None) -> tuple[InstanceChooser, CountingTable]:
    table = CountingTable()
    if oldest is not None:
        item = BackfillState("Member", oldest, len(ledger.list_generations("Member"))).to_item()
        table.put(item, condition="attribute_not_exists(PK)", values={})
    return InstanceChooser(table, ledger, ItemCache(utc_now)), table


def test_nothing_is_read_while_every_generation_derives_the_instance() -> None:
    ledger = number(PLAIN, WITH_LIST)
    chooser, table = choose(ledger, oldest=1)
    plan = ledger.current_generation("Member").plan
    assert chooser.choose_search(plan, "search").since == 1
    assert table.reads == 0
    with pytest.raises(BeingBuilt):
        chooser.choose_listing(plan, "listed")
    assert table.reads == 1


@pytest.mark.parametrize(("oldest", "since"), [(1, 1), (2, 2)])
def test_the_newest_complete_instance_answers(oldest: int, since: int) -> None:
    ledger = number(WITH_LIST, replace(WITH_LIST, listings=(replace(LISTED, shards=4),)))
    chooser, _ = choose(ledger, oldest)
    plan = ledger.current_generation("Member").plan
    assert chooser.choose_listing(plan, "listed").since == since
    assert chooser.choose_listing(plan, "listed", skip_from=2).since == 1
    assert chooser.choose_listing(plan, "listed", skip_from=3).since == since


@pytest.mark.parametrize(
    ("oldest", "copied"),
    [(1, {"id"}), (2, {"id"}), (3, {"id", "team", "name"}), (4, set()), (None, {"id"})],
)
def test_rows_have_what_every_possible_generation_copies(
    oldest: int | None, copied: set[str]
) -> None:
    plans = [
        replace(WITH_LIST, listings=(replace(LISTED, copies=(*names, "version")),))
        for names in (("id", "team"), ("id",), ("id", "team", "name"))
    ]
    ledger = number(plans[0], plans[1], plans[2])
    chooser, table = choose(ledger, oldest)
    plan = ledger.current_generation("Member").plan
    assert [listing.since for listing in plan.derived_listings] == [1]
    names = chooser.list_copied_names(plan, plan.listings[0])
    assert names - {"version"} == copied
    assert table.reads == 1


def test_copies_that_never_changed_need_no_read() -> None:
    listing = replace(LISTED, copies=("id", "version"))
    ledger = number(PLAIN, replace(WITH_LIST, listings=(listing,)))
    chooser, table = choose(ledger, oldest=1)
    plan = ledger.current_generation("Member").plan
    assert chooser.list_copied_names(plan, plan.listings[0]) == {"id", "version"}
    assert table.reads == 0


def test_a_rank_is_read_from_an_instance_that_has_one() -> None:
    ranked = AggregatePlan("count", 0, "count", None, (Part("team"),), (), ranked=True)
    plans = (replace(PLAIN, aggregates=(replace(ranked, ranked=ranks),)) for ranks in (False, True))
    ledger = number(*plans)
    chooser, _ = choose(ledger, oldest=1)
    plan = ledger.current_generation("Member").plan
    assert chooser.choose_aggregate(plan, "count").since == 1
    with pytest.raises(BeingBuilt):
        chooser.choose_aggregate(plan, "count", ranked=True)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (replace(LISTED, shards=2), 1),
        (replace(LISTED, partition=(Part("name"),)), None),
        (replace(LISTED, where=Condition("name", ("a",))), None),
        (replace(LISTED, order=("name",)), None),
    ],
)
def test_a_search_goes_through_a_listing_by_its_own_field(
    before: ListingPlan, expected: int | None
) -> None:
    ledger = number(replace(WITH_LIST, listings=(before,)), WITH_LIST)
    chooser, _ = choose(ledger)
    plan = ledger.current_generation("Member").plan
    found = chooser.find_related_listing(plan, THROUGH_TEAM)
    assert (found.since if found else None) == expected
