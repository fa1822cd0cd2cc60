"""What a deployment changes in a stage, by entity."""

from __future__ import annotations

from dataclasses import replace

import pytest

from daicho.plan import EntityPlan, ExpiryPlan, Ledger, append_generations
from daicho.plan.changes import Effect
from daicho.release.states import StageStates
from daicho_cli.plan.changes import (
    EMPTY_STAGE,
    EntityChange,
    list_deployed,
    list_entity_changes,
)
from tests.support.sample_members import number
from tests.unit.daicho_cli.plan.plans import (
    COUNT,
    LISTED,
    PLAIN,
    RESHAPED,
    SHARDED,
    VOTES,
    make_stage,
)

ROUTES = {
    "User.search": ("GET /users?name=",),
    "User.listed": ("GET /users?country=", "GET /home"),
    "User.votes": ("GET /votes",),
}
UNRECORDED = StageStates({}, is_recorded=False, is_empty=False)


def compare(*plans: EntityPlan, deployed: int = 1) -> EntityChange:
    (change,) = list_entity_changes(number(*plans), make_stage({"User": deployed}), ROUTES)
    return change


def test_an_aggregate_that_keeps_expired_items_needs_the_archive() -> None:
    kept = replace(COUNT, on_expiry="keep")
    archived = replace(PLAIN, expires=ExpiryPlan(60, archive=True))
    unarchived = replace(PLAIN, expires=ExpiryPlan(60, archive=False))
    after = replace(archived, aggregates=(kept,))
    found = [compare(before, after) for before in (archived, unarchived, PLAIN)]
    assert [(change.archived, change.unarchived) for change in found] == [
        (("by_country",), ()),
        ((), ("by_country",)),
        ((), ()),
    ]


def test_an_equal_ledger_changes_nothing() -> None:
    assert list_entity_changes(number(PLAIN), make_stage({"User": 1}), ROUTES) == []


@pytest.mark.parametrize("stage", [EMPTY_STAGE, make_stage({})])
def test_an_entity_that_the_stage_does_not_have_is_new(stage: StageStates) -> None:
    (change,) = list_entity_changes(number(PLAIN), stage, ROUTES)
    assert (change.before, change.after, change.is_new) == (0, 1, True)
    assert (change.changes, change.needs_rebuild) == ((), False)


@pytest.mark.parametrize(
    ("before", "after", "symbol", "effect", "is_being_built", "routes"),
    [
        (PLAIN, replace(PLAIN, listings=(LISTED,)), "+", Effect.ADDED, True, 2),
        (PLAIN, replace(PLAIN, counters=(VOTES,)), "+", Effect.COUNTER_ADDED, False, 1),
        (
            replace(PLAIN, listings=(LISTED,)),
            replace(PLAIN, listings=(SHARDED,)),
            "~",
            Effect.REPLACED,
            False,
            2,
        ),
        (
            replace(PLAIN, listings=(LISTED,)),
            replace(PLAIN, listings=(RESHAPED,)),
            "~",
            Effect.RESHAPED,
            True,
            2,
        ),
        (replace(PLAIN, listings=(LISTED,)), PLAIN, "-", Effect.REMOVED, False, 0),
    ],
)
def test_the_routes_of_an_effect(
    before: EntityPlan,
    after: EntityPlan,
    symbol: str,
    effect: Effect,
    is_being_built: bool,
    routes: int,
) -> None:
    change = compare(before, after)
    (declaration,) = change.changes
    assert (change.before, change.after) == (1, 2)
    assert (declaration.symbol, declaration.change.effect) == (symbol, effect)
    assert declaration.is_being_built is is_being_built
    assert len(declaration.routes) == routes
    assert change.needs_rebuild is (effect not in (Effect.COUNTER_ADDED, Effect.REMOVED))


def test_a_rebuild_builds_what_items_may_lack() -> None:
    change = compare(PLAIN, replace(PLAIN, listings=(LISTED,), aggregates=(COUNT,)))
    assert change.incomplete == {("listed", 2), ("by_country", 2)}


def test_what_an_undeployed_generation_introduced_answers_nothing() -> None:
    listed = replace(PLAIN, listings=(LISTED,))
    plans = (PLAIN, listed, replace(PLAIN, listings=(SHARDED,)))
    skipped = compare(*plans, deployed=1)
    assert skipped.changes[0].is_being_built
    assert skipped.incomplete == {("listed", 2), ("listed", 3)}
    # Items that the stage has may also be of generation 1.
    followed = compare(*plans, deployed=2)
    assert followed.changes[0].change.effect is Effect.REPLACED
    assert followed.changes[0].is_being_built
    assert "neither @2 nor @3 includes all items" in followed.changes[0].description
    (complete,) = list_entity_changes(number(*plans), make_stage({"User": 2}, oldest=2), ROUTES)
    assert not complete.changes[0].is_being_built
    assert complete.changes[0].description == complete.changes[0].change.description
    assert complete.incomplete == {("listed", 3)}


def test_an_entity_without_effects_is_listed_with_its_generation() -> None:
    plain = replace(PLAIN, fields={**PLAIN.fields, "name": "date"})
    change = compare(PLAIN, replace(plain, searches=PLAIN.searches))
    assert (change.changes, change.after, change.needs_rebuild) == ((), 2, False)


def test_code_that_was_rolled_back_writes_an_earlier_generation() -> None:
    ledger = number(PLAIN, replace(PLAIN, listings=(LISTED,)))
    rolled_back = replace(ledger, written={"User": 1})
    (change,) = list_entity_changes(rolled_back, make_stage({"User": 2}), ROUTES)
    assert (change.before, change.after, change.is_rolled_back) == (2, 1, True)
    assert (change.changes, change.needs_rebuild) == ((), False)
    assert list_entity_changes(rolled_back, make_stage({"User": 1}), ROUTES) == []


def test_a_stage_that_is_ahead_is_refused_and_not_compared() -> None:
    assert list_entity_changes(number(PLAIN), make_stage({"User": 2, "Gone": 1}), ROUTES) == []


def test_a_table_without_backfill_items_may_have_the_oldest_generation() -> None:
    ledger = number(PLAIN, replace(PLAIN, listings=(LISTED,)))
    assert list_deployed(ledger, UNRECORDED) == {"User": 1}
    (change,) = list_entity_changes(ledger, UNRECORDED, ROUTES)
    assert (change.before, change.after, change.needs_rebuild) == (1, 2, True)
    partly = replace(UNRECORDED, states=make_stage({"User": 2}).states)
    assert list_deployed(ledger, partly) == {"User": 2}


def test_entities_are_in_order_of_name() -> None:
    ledger = Ledger()
    for name in ("Zebra", "Ant"):
        ledger = append_generations([replace(PLAIN, name=name)], ledger)
    changes = list_entity_changes(ledger, EMPTY_STAGE, {})
    assert [change.entity for change in changes] == ["Ant", "Zebra"]
