"""The profiles of rebuilds (rules 29 to 32): the library's own, over releases of a lifecycle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daicho.plan import Decisions
from daicho.testing.faults.code_versions import POISON_FOR_BOTH, POISON_SOMETIMES
from daicho.testing.schedules.code_history import CodeHistory, simulate_history
from daicho.testing.schedules.profile import Profile
from tests.delivery.schedules.lifecycle_profiles import (
    CARD_1,
    CARD_2,
    CARD_3,
    CHANGED,
    DRAFT_1,
    DRAFT_2,
    VISIT_1,
    VISIT_2,
    build_history,
    draw_values,
)

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


def rebuild_profile(name: str, share: int, history: CodeHistory, **more: Any) -> Profile:
    """Releases start rebuilds; requests of all versions of the API continue, and write late."""
    return Profile(
        name,
        share,
        entities=simulate_history(history, draw_values),
        entity_sets=(tuple(history.ledgers[0].entities),),
        history=history,
        settle_s=SETTLE_S,
        writes=(0,),
        lengths=(40, 60, 100),
        max_items=(1, 2, 3),
        shards=(1, 2),
        fault_levels=(0.0, 0.0, 0.0, 0.02),
        **{"events": EVENTS, **more},
    )


REBUILD_PROFILES = (
    rebuild_profile("rebuild", 120, REVERTED),
    rebuild_profile("rebuild superseded", 50, SUPERSEDED),
    rebuild_profile("rebuild disabled", 40, DISABLED),
    rebuild_profile("rebuild replaced", 40, REPLACED),
    # Records are set aside: touches too, and whatever was written before them.
    rebuild_profile(
        "rebuild poison",
        50,
        REVERTED,
        mark_kinds=((POISON_SOMETIMES,), (POISON_FOR_BOTH,), (POISON_FOR_BOTH, POISON_SOMETIMES)),
        retries=(300, 300, 1),
        redrive_versions=(),
        events={**EVENTS, "redrive": (2, 6)},
    ),
)
