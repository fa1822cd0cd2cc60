"""The profiles of rebuilds (rules 29 to 32): the library's own, over releases of a lifecycle."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from daicho.plan import (
    AggregatePlan,
    Condition,
    Decisions,
    EntityPlan,
    ExpiryPlan,
    KeyPlan,
    UniquePlan,
)
from daicho.testing.faults.code_versions import POISON_FOR_BOTH, POISON_SOMETIMES
from daicho.testing.simulated_entities import ValueSource
from tests.delivery.schedules.lifecycle_profiles import (
    CARD_1,
    CARD_2,
    CARD_3,
    CHANGED,
    DRAFT_1,
    DRAFT_2,
    STATE,
    TEAM,
    VISIT_1,
    VISIT_2,
    build_history,
    draw_values,
)
from tests.simulator.schedules.code_history import CodeHistory, simulate_history
from tests.simulator.schedules.proof_profile import ProofProfile

SETTLE_S = 60
# Few entities: each one has heartbeats of its own, which are most of the records.
REVERTED = build_history((CARD_1,), Decisions(reverted=frozenset({"Card"})), (CARD_1,), (CARD_2,))
SUPERSEDED = build_history(
    (CARD_3, VISIT_2),
    Decisions(superseded=CHANGED),
    (CARD_1, VISIT_1),
    (CARD_2, VISIT_2),
)
DISABLED = build_history(
    (CARD_2,), Decisions(disabled=CHANGED | {"Card.of_state"}), (CARD_1,), (CARD_2,)
)
REPLACED = build_history(
    (CARD_3, DRAFT_2), Decisions(disabled=CHANGED), (CARD_1, DRAFT_1), (CARD_2, DRAFT_2)
)
# Touches that change the expiry of items: they get one, get another one, and lose it again.
DATED = build_history(
    (replace(CARD_1, expires=ExpiryPlan(900, archive=False)),),
    Decisions(),
    (CARD_1,),
    (replace(CARD_1, expires=ExpiryPlan(3_600, archive=False)),),
)
UNDATED = build_history(
    (replace(CARD_1, expires=ExpiryPlan(7_200, archive=False)),),
    Decisions(),
    (replace(CARD_1, expires=ExpiryPlan(1_800, archive=False)),),
    (CARD_1,),
)
# Expiries by a condition, a field and the last change, each of which a touch computes from an item.
OPEN, DONE = Condition("state", ("o",)), Condition("state", ("d",))
DUE_1 = replace(CARD_1, fields={**CARD_1.fields, "due": "datetime"})
BY_FIELD = replace(DUE_1, expires=ExpiryPlan(900, archive=False, of="due", where=DONE))
BY_CHANGE = replace(DUE_1, expires=ExpiryPlan(300, archive=False, of="_changed_at", where=OPEN))
BY_CREATION = replace(DUE_1, expires=ExpiryPlan(900, archive=False, where=DONE))
MOVED = build_history((BY_CHANGE,), Decisions(), (BY_CREATION,), (BY_FIELD,))
STAMPED = build_history((BY_FIELD,), Decisions(), (DUE_1,), (BY_CHANGE,))
# Touches that also reserve values, which a write may change. Those of no two items are alike.
ALL_VALUES = (UniquePlan("all_values", 0, ("id", "name", "team", "state")),)
RESERVED = build_history(
    (replace(CARD_2, uniques=ALL_VALUES),),
    Decisions(),
    (CARD_1,),
    (replace(CARD_1, uniques=ALL_VALUES),),
)
# Aggregates that keep what expired, and that are newer than archived rows (rule 33).
OF_TEAM = AggregatePlan("of_team", 0, "count", None, TEAM, (), on_expiry="keep")
OF_STATE = AggregatePlan("of_state", 0, "count", None, STATE, (), on_expiry="keep")
OF_BOTH = AggregatePlan("of_both", 0, "count", None, TEAM, STATE, on_expiry="keep")
LOAN_1 = EntityPlan(
    name="Loan",
    fields={"id": "str", "team": "str", "state": "str"},
    key=KeyPlan(("id",), ()),
    aggregates=(OF_TEAM,),
    expires=ExpiryPlan(90, archive=True),
)
LOAN_2 = replace(LOAN_1, aggregates=(replace(OF_TEAM, where=OPEN), OF_STATE))
LOAN_3 = replace(LOAN_2, aggregates=(*LOAN_2.aggregates, OF_BOTH))
KEPT = build_history((LOAN_3,), Decisions(), (LOAN_1,), (LOAN_2,))
EVENTS: Mapping[str, tuple[int, ...]] = {
    "release": (10, 25),
    "request": (20, 40),
    "work": (120, 200),
    "look": (10,),
    "operate": (0, 0, 5),
    "instance": (0, 10),
    "roll_back": (0, 10, 30),
    "advance": (15,),
    "detached": (6,),
    "abandon": (0, 4),
    "repeat": (0, 4),
    "rollup": (0, 4),
    "tick": (0, 3),
    "split": (0, 0, 2),
    **dict.fromkeys(("write", "load", "deploy", "expire"), (0,)),
}
FREQUENCIES: Mapping[str, Any] = {
    "lengths": (40, 60, 100),
    "max_items": (1, 2, 3),
    "fault_levels": (0.0, 0.0, 0.0, 0.02),
    "events": EVENTS,
}


def draw_exact_values(plan: EntityPlan, source: ValueSource) -> dict[str, Any]:
    """Values with a version and the time of creation, on which exact touches depend."""
    created = source.now.astimezone(dt.UTC).isoformat(timespec="microseconds")
    stamps = {"version": 1, "created_at": created.replace("+00:00", "Z")}
    return {**draw_values(plan, source), **stamps}


def draw_due_values(plan: EntityPlan, source: ValueSource) -> dict[str, Any]:
    """The same with a time that an item may be due at: past, soon or later, or never."""
    seconds = source.pick((-3_000, -840, -300, 600, None))
    values = draw_exact_values(plan, source)
    if seconds is not None:
        due = source.now.astimezone(dt.UTC) + dt.timedelta(seconds=seconds)
        values["due"] = due.isoformat(timespec="microseconds").replace("+00:00", "Z")
    return values


def rebuild_profile(
    name: str,
    share: int,
    history: CodeHistory,
    draw: Callable[[EntityPlan, ValueSource], dict[str, Any]] = draw_values,
    **more: Any,
) -> ProofProfile:
    """Releases start rebuilds; requests of all versions of the API continue, and write late."""
    return ProofProfile(
        name,
        share,
        entities=simulate_history(history, draw),
        entity_sets=(tuple(history.ledgers[0].entities),),
        history=history,
        settle_s=SETTLE_S,
        writes=(0,),
        shards=(1, 2),
        **{**FREQUENCIES, **more},
    )


REBUILD_PROFILES = (
    rebuild_profile("rebuild", 60, REVERTED),
    rebuild_profile("rebuild superseded", 25, SUPERSEDED),
    rebuild_profile("rebuild disabled", 20, DISABLED),
    rebuild_profile("rebuild replaced", 20, REPLACED),
    rebuild_profile("rebuild unobserved", 20, REVERTED, observes_items=False),
    rebuild_profile("rebuild dated", 12, DATED, draw_exact_values),
    rebuild_profile("rebuild undated", 12, UNDATED, draw_exact_values),
    rebuild_profile("rebuild moved expiry", 12, MOVED, draw_due_values),
    rebuild_profile("rebuild last change", 12, STAMPED, draw_due_values),
    rebuild_profile("rebuild reserved", 25, RESERVED, draw_exact_values),
    # Code that was rolled back writes the only item just before it is touched.
    rebuild_profile(
        "rebuild reserved, rolled back",
        5,
        RESERVED,
        draw_exact_values,
        max_items=(1,),
        fault_levels=(0.0,),
        events={**EVENTS, "release": (40,), "write_older": (20,), "roll_back": (0,)},
    ),
    # A quarter to a third of all writes meets another transaction: passes leave items to those that
    # follow.
    rebuild_profile(
        "rebuild contended",
        10,
        RESERVED,
        draw_exact_values,
        faults=("conflict",),
        fault_levels=(0.33, 0.5),
        lengths=(100,),
        max_items=(6,),
        events={**EVENTS, "release": (25,), "request": (10,), "work": (200,)},
    ),
    # Items expire before, while and after they are touched, and archived rows are restored.
    rebuild_profile(
        "rebuild kept",
        60,
        KEPT,
        draw_exact_values,
        lengths=(60, 100),
        max_items=(2, 3, 6),
        events={
            **EVENTS,
            "advance": (40,),
            "request": (40,),
            "expire": (40,),
            "restore": (60,),
            "detached": (40,),
            "tick": (5, 10),
            "look": (5,),
        },
    ),
    # Records are set aside: touches too, and whatever was written before them.
    rebuild_profile(
        "rebuild poison",
        25,
        REVERTED,
        mark_kinds=((POISON_SOMETIMES,), (POISON_FOR_BOTH,), (POISON_FOR_BOTH, POISON_SOMETIMES)),
        retries=(300, 300, 1),
        redrive_versions=(),
        events={**EVENTS, "redrive": (2, 6)},
    ),
)
