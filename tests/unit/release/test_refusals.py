"""A stage refuses a ledger that lacks what its table has, or that ends an instance too early."""

from __future__ import annotations

from dataclasses import replace

from daicho.layout.backfill_state import BackfillState, digest_plan
from daicho.plan import (
    Condition,
    Decisions,
    EntityPlan,
    KeyPlan,
    Ledger,
    ListingPlan,
    Part,
    SearchPlan,
    append_generations,
)
from daicho.release.refusals import list_refusals

SEARCH = SearchPlan("search", 0, ("name",), (1, 2))
LISTED = ListingPlan("listed", 0, (Part("team"),), ("created_at",))
PLAIN = EntityPlan(
    "Member", {"id": "str", "name": "str", "team": "str"}, KeyPlan(("id",), ()), searches=(SEARCH,)
)
WITH_LIST = replace(PLAIN, listings=(LISTED,))
NARROWED = replace(LISTED, where=Condition("team", ("a",)))
CHANGED = replace(PLAIN, listings=(NARROWED,))
DISABLE = Decisions(disabled=frozenset({"Member.listed"}))


def number(*plans: EntityPlan, decisions: Decisions = Decisions()) -> Ledger:  # noqa: B008
    ledger = Ledger()
    for plan in plans:
        ledger = append_generations([plan], ledger)
    return append_generations([plans[-1]], ledger, decisions)


def record(ledger: Ledger, oldest: int, newest: int) -> dict[str, BackfillState]:
    plans = {
        each.number: digest_plan(each.plan)
        for each in ledger.list_generations("Member")
        if each.number <= newest
    }
    return {"Member": BackfillState("Member", oldest, newest, plans=plans)}


def test_a_ledger_with_all_that_was_written_is_accepted() -> None:
    ledger = number(PLAIN, WITH_LIST)
    assert list_refusals(ledger, record(ledger, 1, 1)) == []
    assert list_refusals(ledger, record(ledger, 1, 2)) == []
    assert list_refusals(ledger, {}) == []


def test_a_ledger_without_a_written_generation_is_refused() -> None:
    ledger = number(PLAIN, WITH_LIST)
    (refusal,) = list_refusals(number(PLAIN), record(ledger, 1, 2))
    assert "knows Member generation 1" in refusal
    assert "generation 2" in refusal
    assert "daicho generation --revert Member" in refusal


def test_a_ledger_without_a_written_entity_is_refused() -> None:
    ledger = number(PLAIN)
    (refusal,) = list_refusals(Ledger(), record(ledger, 1, 1))
    assert "knows no Member" in refusal


def test_an_edited_generation_is_refused() -> None:
    ledger = number(PLAIN, WITH_LIST)
    edited = number(replace(PLAIN, searches=(replace(SEARCH, shards=4),)), WITH_LIST)
    (refusal,) = list_refusals(edited, record(ledger, 1, 2))
    assert refusal.startswith("Member generation 1, 2 is not the one that was deployed")
    assert list_refusals(number(PLAIN, CHANGED), record(ledger, 1, 1)) == []


def test_an_instance_ends_only_when_its_successor_is_complete() -> None:
    ledger = number(WITH_LIST, CHANGED, decisions=DISABLE)
    assert ledger.newest_generation("Member").number == 3
    (refusal,) = list_refusals(ledger, record(ledger, 1, 2))
    assert refusal.startswith("Member.listed@1 ends in generation 3, but @2")
    assert list_refusals(ledger, record(ledger, 2, 2)) == []


def test_a_stage_that_skips_a_generation_is_refused_too() -> None:
    ledger = number(WITH_LIST, CHANGED, decisions=DISABLE)
    (refusal,) = list_refusals(ledger, record(ledger, 1, 1))
    assert "has not had a generation in which it retires" in refusal


def test_a_removed_declaration_does_not_end_in_one_step() -> None:
    ledger = number(WITH_LIST, PLAIN, decisions=DISABLE)
    (refusal,) = list_refusals(ledger, record(ledger, 1, 1))
    assert "has not had a generation in which it retires" in refusal


def test_an_instance_that_was_never_complete_may_end() -> None:
    """It was added in generation 2, and what replaced it is not complete either."""
    ledger = number(PLAIN, WITH_LIST, CHANGED, decisions=DISABLE)
    assert list_refusals(ledger, record(ledger, 1, 3)) == []


def test_a_removed_declaration_may_end() -> None:
    ledger = number(WITH_LIST, PLAIN, decisions=DISABLE)
    assert ("listed", 1) not in ledger.newest_generation("Member").plan.derived_instances
    assert list_refusals(ledger, record(ledger, 1, 2)) == []


def test_what_was_declared_before_answers_for_what_ends() -> None:
    """A declaration changes again, and its first instance ends: the second one is complete."""
    again = replace(CHANGED, listings=(replace(CHANGED.listings[0], shards=4),))
    ledger = append_generations([again], number(WITH_LIST, CHANGED), DISABLE)
    assert list_refusals(ledger, record(ledger, 2, 2)) == []
    (refusal,) = list_refusals(ledger, record(ledger, 1, 2))
    assert refusal.startswith("Member.listed@1 ends in generation 3, but @3")
