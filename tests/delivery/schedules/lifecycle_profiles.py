"""The profiles of releases in both directions, with the lifecycle of declarations (rules 25 to 27).

Each has three releases. The second one changes, adds and removes declarations. The third one
reverts this, gives it up for another change, or ends what retires.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from daicho.plan import (
    AggregatePlan,
    Condition,
    Decisions,
    EntityPlan,
    ExpiryPlan,
    KeyPlan,
    Ledger,
    ListingPlan,
    Part,
    SearchPlan,
    append_generations,
)
from daicho.testing.simulated_entities import ValueSource
from tests.simulator.schedules.code_history import CodeHistory, simulate_history
from tests.simulator.schedules.proof_profile import ProofProfile

NEWEST = ("created_at",)
TEAM, STATE = (Part("team"),), (Part("state"),)
COUNT = AggregatePlan("count", 0, "count", None, TEAM, ())
CARD_1 = EntityPlan(
    name="Card",
    fields={"id": "str", "name": "str", "team": "str", "state": "str"},
    key=KeyPlan(("id",), ()),
    searches=(SearchPlan("search", 0, ("name",), (1,)),),
    listings=(
        ListingPlan("of_team", 0, TEAM, NEWEST),
        ListingPlan("of_state", 0, STATE, NEWEST),
    ),
    aggregates=(COUNT,),
)
CARD_2 = replace(
    CARD_1,
    searches=(SearchPlan("search", 0, ("name", "state"), (1,)),),
    listings=(
        ListingPlan("of_team", 0, TEAM, NEWEST, shards=2),
        ListingPlan("open", 0, (), NEWEST, Condition("state", ("o",))),
    ),
    aggregates=(replace(COUNT, where=Condition("state", ("o",))),),
)
CARD_3 = replace(
    CARD_2,
    searches=(SearchPlan("search", 0, ("state",), (2,)),),
    listings=(
        ListingPlan("of_team", 0, TEAM, NEWEST, Condition("state", ("d",))),
        CARD_2.listings[1],
    ),
    aggregates=(replace(COUNT, where=Condition("state", ("d",))),),
)
OF_SONG = AggregatePlan("of_song", 0, "count", None, (Part("song"),), ())
VISIT_1 = EntityPlan(
    name="Visit",
    fields={"id": "str", "song": "str"},
    key=KeyPlan(("id",), ()),
    aggregates=(OF_SONG,),
    expires=ExpiryPlan(60, archive=False),
)
VISIT_2 = replace(VISIT_1, aggregates=(replace(OF_SONG, on_expiry="keep"),))
DRAFT_1 = EntityPlan("Draft", {"id": "str", "team": "str"}, KeyPlan(("id",), ()))
DRAFT_2 = replace(DRAFT_1, listings=(ListingPlan("of_team", 0, TEAM, NEWEST),))
EXTRA_1 = replace(DRAFT_2, name="Extra")
EXTRA_2 = replace(EXTRA_1, listings=(ListingPlan("of_team", 0, TEAM, NEWEST, shards=2),))

FIRST, SECOND = (CARD_1, VISIT_1, DRAFT_1), (CARD_2, VISIT_2, DRAFT_2, EXTRA_1)
CHANGED = frozenset({"Card.search", "Card.of_team", "Card.count"})


def build_history(
    third: Sequence[EntityPlan],
    decisions: Decisions,
    first: Sequence[EntityPlan] = FIRST,
    second: Sequence[EntityPlan] = SECOND,
) -> CodeHistory:
    """The three releases. ``decisions``: of the developer, about the third one."""
    ledgers = [append_generations(first, Ledger())]
    ledgers.append(append_generations(second, ledgers[-1]))
    ledgers.append(append_generations(third, ledgers[-1], decisions))
    return CodeHistory((first, second, third), ledgers)


REVERTED = build_history(
    (CARD_1, VISIT_1, DRAFT_2, EXTRA_1), Decisions(reverted=frozenset({"Card", "Visit"}))
)
SUPERSEDED = build_history((CARD_3, VISIT_2, DRAFT_2, EXTRA_2), Decisions(superseded=CHANGED))
DISABLED = build_history(
    (CARD_2, VISIT_2, DRAFT_2, EXTRA_1),
    Decisions(disabled=CHANGED | {"Card.of_state", "Visit.of_song"}),
)
REPLACED = build_history(
    (CARD_3, VISIT_2, DRAFT_2, EXTRA_2), Decisions(disabled=CHANGED | {"Visit.of_song"})
)


def draw_values(plan: EntityPlan, source: ValueSource) -> dict[str, Any]:
    """Values of an entity: few, so that each change of a declaration concerns some of them."""
    values = {"name": ("a", "b"), "team": ("x", "y"), "state": ("o", "d"), "song": ("1",)}
    return {
        "id": source.pick(source.ids),
        **{name: source.pick(values[name]) for name in sorted(values) if name in plan.fields},
    }


def lifecycle_profile(name: str, share: int, history: CodeHistory) -> ProofProfile:
    """Releases, starts and ends of instances, writes and reads; the stream is delivered between."""
    return ProofProfile(
        name,
        share,
        entities=simulate_history(history, draw_values),
        entity_sets=(("Card",), ("Card", "Visit"), ("Card", "Draft"), ("Card", "Draft", "Extra")),
        history=history,
        writes=(0,),
        max_items=(1, 2, 3),
        fault_levels=(0.0, 0.0, 0.0, 0.02),
        events={
            "release": (30, 50),
            "use": (30, 50),
            "instance": (0, 10),
            "roll_back": (30, 60),
            "rebuild": (4, 12),
            **dict.fromkeys(("write", "load", "deploy"), (0,)),
            "advance": (15,),
            "detached": (10,),
            "abandon": (0, 4),
            "repeat": (0, 4),
            "tick": (0,),
            "rollup": (0, 2),
            "expire": (0,),
            "split": (0, 0, 2),
        },
    )


OTHER_EVENTS = ("write", "load", "deploy", "tick", "advance", "rollup", "expire")
LIFECYCLE_PROFILES = (
    lifecycle_profile("lifecycle", 44, REVERTED),
    lifecycle_profile("lifecycle superseded", 12, SUPERSEDED),
    lifecycle_profile("lifecycle disabled", 12, DISABLED),
    lifecycle_profile("lifecycle replaced", 118, REPLACED),
    # The API goes back to earlier code, most often while a release is open to writers.
    replace(
        lifecycle_profile("lifecycle rolled back", 4, DISABLED),
        lengths=(25, 40),
        fault_levels=(0.0,),
        events={
            "release": (60,),
            "roll_back": (8, 16),
            "rebuild": (0, 12),
            **dict.fromkeys(OTHER_EVENTS, (0,)),
        },
    ),
)
