"""What a developer is told about a new generation: an effect of each kind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from daicho.plan import AggregatePlan, Decisions, EntityPlan, KeyPlan, Ledger, ListingPlan, Part
from daicho.plan.changes import Effect, InstanceChange, compare_ledgers, cut_ledger
from daicho.plan.lockfile import append_generations
from daicho.plan.model import CounterPlan

LISTING = ListingPlan("listed", 0, (Part("name"),), ("created_at",))
COUNT = AggregatePlan("count", 0, "count", None, (Part("name"),), ())
VOTES = CounterPlan("votes", 0, (Part("name"),), (), 4)
PLAIN = EntityPlan("Thing", {"id": "str", "name": "str"}, KeyPlan(("id",), ()))
THING = replace(PLAIN, listings=(LISTING,), aggregates=(COUNT,), counters=(VOTES,))


def compare(*plans: EntityPlan, decisions: Decisions = Decisions()) -> list[InstanceChange]:  # noqa: B008
    """The effects of the last of these generations."""
    ledger = Ledger()
    for plan in plans[:-1]:
        ledger = append_generations([plan], ledger)
    return compare_ledgers(ledger, append_generations([plans[-1]], ledger, decisions))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (PLAIN, THING, [Effect.ADDED, Effect.ADDED, Effect.COUNTER_ADDED]),
        (THING, replace(THING, listings=(replace(LISTING, shards=4),)), [Effect.REPLACED]),
        (
            THING,
            replace(THING, listings=(replace(LISTING, order=("name",)),)),
            [Effect.RESHAPED],
        ),
        (
            THING,
            replace(THING, aggregates=(replace(COUNT, measure="sum", field="size"),)),
            [Effect.RESHAPED],
        ),
        (THING, replace(THING, aggregates=(replace(COUNT, ranked=True),)), [Effect.RESHAPED]),
        (
            THING,
            replace(THING, fields={"id": "str", "name": "int"}),
            [Effect.UNREADABLE, Effect.UNREADABLE, Effect.RESTARTED],
        ),
        (THING, PLAIN, [Effect.ENDED, Effect.ENDED, Effect.COUNTER_REMOVED]),
        (THING, replace(THING, listings=()), [Effect.REMOVED]),
        (THING, replace(THING, counters=(replace(VOTES, slots=8),)), []),
    ],
)
def test_the_effect_of_a_change(
    before: EntityPlan, after: EntityPlan, expected: list[Effect]
) -> None:
    before, after = (
        replace(plan, fields={name: plan.fields[name] for name in read})
        for plan in (before, after)
        for read in [[name for name in plan.list_read_fields() if name in plan.fields]]
    )
    assert [change.effect for change in compare(before, after)] == expected


def test_a_declaration_that_returns_is_answered_by_the_one_that_retires() -> None:
    without = replace(THING, listings=())
    reordered = replace(THING, listings=(replace(LISTING, order=("name",)),))
    sharded = replace(THING, listings=(replace(LISTING, shards=4),))
    for returning, effect in ((sharded, Effect.REPLACED), (reordered, Effect.ADDED)):
        (change,) = compare(THING, without, returning)
        assert change.effect == effect


def test_an_intermediate_generation_answers_nothing_where_it_was_not_deployed() -> None:
    sharded = replace(THING, listings=(replace(LISTING, shards=4),))
    ledger = Ledger()
    for plan in (PLAIN, THING, sharded):
        ledger = append_generations([plan], ledger)
    effects = {
        newest: [
            (change.effect, change.old, change.new)
            for change in compare_ledgers(cut_ledger(ledger, {"Thing": newest}), ledger)
            if change.declaration == "listed"
        ]
        for newest in (1, 2, 3)
    }
    assert effects == {1: [(Effect.ADDED, 0, 3)], 2: [(Effect.REPLACED, 2, 3)], 3: []}
