"""Profiles of stream shards that close every few hours, and are retired (rules 48 and 49)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daicho.testing.faults.code_versions import FIXED_CODE, NEW_CODE
from daicho.testing.schedules.profile import FEW_RETRIES, KILLERS, POISON
from tests.delivery.schedules.sample_profile import sample_profile
from tests.simulator.schedules.proof_profile import ProofProfile

NO_MARKS = ((),) * 8
"""Most schedules have no such records: their redrives leave few tallies to a recount."""
CLOSING_EVENTS: Mapping[str, tuple[int, ...]] = {
    **{"advance": (30,), "write": (25,), "detached": (10, 30), "repeat": (0, 4)},
    **dict.fromkeys(("close_shard", "let_hours_pass", "fold_closed"), (4, 10)),
    **{"repeat_closed": (4, 12), "straggle": (1, 4)},
}
"""Usual events are fewer than in other profiles, as the events of closing shards deliver too."""
LATER_EVENTS: Mapping[str, tuple[int, ...]] = {
    **{"rollup": (8, 16), "overtake": (0, 4), "read": (0, 4), "deploy": (0, 4)},
    **{"split": (0, 2), "tick": (0, 3), "load": (0,)},
}


def closing_profile(name: str, share: int, **options: Any) -> ProofProfile:
    """A profile of shards that close, over few entities."""
    common: dict[str, Any] = {
        "entity_sets": (("Song",), ("Download",), ("Order",), ("Song", "Order")),
        "actions": ("put", "put", "delete", "expire"),
        "max_items": (1, 2, 3),
        "shards": (1, 1, 2),
        "writes": (5, 8, 12),
        "lengths": (30, 50, 80),
        "fault_levels": (0.0, 0.0, 0.05),
        "retirement": "by all code",
        "overtakers": ("rollup",),
    }
    return sample_profile(name, share, **{**common, **options})


CLOSING_PROFILES = (
    # Late repeats, zombies, killers, redrives and rollups of shards that were retired.
    closing_profile(
        "closing shards",
        78,
        mark_kinds=(*NO_MARKS, *POISON, *KILLERS),
        retries=(0, *FEW_RETRIES),
        overtakers=("rollup", "redrive"),
        redrive_versions=(FIXED_CODE, NEW_CODE),
        events={
            **CLOSING_EVENTS,
            "redrive_closed": (0, 0, 4),
            "redrive": (0, 0, 5),
            **LATER_EVENTS,
        },
    ),
    # No record is discarded, so no tally is left to a recount: every total is compared.
    closing_profile(
        "closing without discards",
        150,
        mark_kinds=NO_MARKS,
        discards=False,
        events={**CLOSING_EVENTS, **LATER_EVENTS},
    ),
    # The code that retires shards is deployed while attempts of code without rule 48 are under way.
    closing_profile(
        "closing upgrade",
        28,
        entity_sets=(("Song",), ("Download",), ("Order",)),
        actions=("put", "put", "delete"),
        max_items=(1, 2),
        retries=(0, 3, 300),
        retirement="by new code",
        events={
            "upgrade": (3, 6),
            **{**CLOSING_EVENTS, "straggle": (2, 4)},
            **{"rollup": (8, 16), "overtake": (0, 8), "deploy": (0,), "load": (0,)},
        },
    ),
)
