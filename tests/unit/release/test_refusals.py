"""A stage refuses a ledger that lacks what its table has, or that ends an instance too early."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from daicho.layout.backfill_state import BackfillState
from daicho.plan import Decisions, FieldPlan, Ledger, MigrationPlan, append_generations
from daicho.release.refusals import list_early_disables, list_refusals
from tests.support.sample_members import CHANGED, PLAIN, SEARCH, WITH_LIST, disable, number


def record(ledger: Ledger, oldest: int, newest: int) -> dict[str, BackfillState]:
    plans = {
        each.number: each.plan.digest
        for each in ledger.list_generations("Member")
        if each.number <= newest
    }
    return {"Member": BackfillState("Member", oldest, newest, plans=plans)}


def test_an_edited_generation_is_refused() -> None:
    ledger = number(PLAIN, WITH_LIST)
    edited = number(replace(PLAIN, searches=(replace(SEARCH, shards=4),)), WITH_LIST)
    (refusal,) = list_refusals(edited, record(ledger, 1, 2))
    assert refusal.startswith("Member generation 1, 2 is not the one that was deployed")
    assert list_refusals(number(PLAIN, CHANGED), record(ledger, 1, 1)) == []


def test_an_instance_ends_only_when_its_successor_is_complete() -> None:
    ledger = disable(WITH_LIST, CHANGED)
    assert ledger.newest_generation("Member").number == 3
    (refusal,) = list_refusals(ledger, record(ledger, 1, 2))
    assert refusal.startswith("Member.listed@1 ends in generation 3, but @2")
    assert list_refusals(ledger, record(ledger, 2, 2)) == []


def test_a_stage_that_skips_a_generation_is_refused_too() -> None:
    ledger = disable(WITH_LIST, CHANGED)
    (refusal,) = list_refusals(ledger, record(ledger, 1, 1))
    assert "has not had a generation in which it retires" in refusal


NOON = dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)


def test_an_instance_ends_a_day_after_readers_switched() -> None:
    ledger = disable(WITH_LIST, CHANGED)
    state = replace(record(ledger, 2, 2)["Member"], completed="2026-11-22T12:00:00.000000Z")
    (refusal,) = list_early_disables(ledger, {"Member": state}, NOON + DAY / 2, DAY)
    assert refusal.startswith("Member.listed@1 ends in generation 3, but clients may continue")
    assert refusal.endswith("Deploy from 2026-11-23T12:00:00Z on")
    assert list_early_disables(ledger, {"Member": state}, NOON + DAY, DAY) == []
    assert list_early_disables(ledger, {"Member": state}, NOON, DAY * 0) == []


def test_what_was_removed_has_no_readers_to_wait_for() -> None:
    ledger = disable(WITH_LIST, PLAIN)
    state = replace(record(ledger, 2, 2)["Member"], completed="2026-11-22T12:00:00.000000Z")
    assert list_early_disables(ledger, {"Member": state}, NOON, DAY) == []


def test_an_instance_that_was_disabled_in_the_stage_is_never_declared_again() -> None:
    disabled = frozenset({"listed@1"})
    retiring = number(WITH_LIST, CHANGED)
    state = replace(record(retiring, 2, 2)["Member"], disabled=disabled)
    assert list_refusals(retiring, {"Member": state}) == []
    revert = Decisions(reverted=frozenset({"Member"}))
    reverted = append_generations([WITH_LIST], retiring, revert)
    assert ("listed", 1) in reverted.newest_generation("Member").plan.derived_instances
    (refusal,) = list_refusals(reverted, {"Member": state})
    assert refusal.startswith("Member.listed@1 is declared in generation 3, but a deployment")
    # With the generation that ended it, the declaration comes back as a new instance.
    state = replace(record(disable(WITH_LIST, CHANGED), 3, 3)["Member"], disabled=disabled)
    reverted = append_generations([WITH_LIST], disable(WITH_LIST, CHANGED), revert)
    assert list_refusals(reverted, {"Member": state}) == []


def test_a_stage_does_not_skip_the_generation_after_one_that_answers() -> None:
    """Generation 3 superseded what generation 2 declares, and generation 4 disables it."""
    again = replace(CHANGED, listings=(replace(CHANGED.listings[0], shards=4),))
    superseded = Decisions(superseded=frozenset({"Member.listed"}))
    ledger = append_generations([again], number(WITH_LIST, CHANGED), superseded)
    noted = replace(again, fields={**again.fields, "note": "str"})
    ledger = append_generations([noted], ledger)
    assert list_refusals(ledger, record(ledger, 1, 2)) == []  # it is not complete
    (refusal,) = list_refusals(ledger, record(ledger, 2, 2))
    assert "Deploy the generation after 2 first" in refusal
    assert list_refusals(ledger, record(ledger, 2, 3)) == []


def test_a_migration_ends_only_when_no_item_needs_it() -> None:
    split = MigrationPlan("split", 0, ("given",))
    fields = {"Member": {name: FieldPlan("str", required=False) for name in ("name", "given")}}
    ledger = number(PLAIN)
    ledger = append_generations([replace(PLAIN, migrations=(split,))], ledger, fields=fields)
    end = Decisions(disabled=frozenset({"Member.split"}))
    ended = append_generations([PLAIN], ledger, end, fields)
    for newest in (1, 2):
        (refusal,) = list_refusals(ended, record(ledger, 1, newest))
        assert "Member.split ends in generation 3" in refusal
        assert "items of generation 1, which lack given" in refusal
    assert list_refusals(ended, record(ledger, 2, 2)) == []
    # Code that reverts the change does not declare the field either.
    revert = Decisions(reverted=frozenset({"Member"}))
    reverted = append_generations(
        [PLAIN], ledger, revert, {"Member": {"name": fields["Member"]["name"]}}
    )
    assert list_refusals(reverted, record(ledger, 1, 2)) == []
