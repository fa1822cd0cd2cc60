"""Profiles of stream shards that close every few hours, and are retired (rules 48 and 49)."""

from __future__ import annotations

from daicho.testing.faults.code_versions import FIXED_CODE, NEW_CODE
from daicho.testing.schedules.profile import FEW_RETRIES, KILLERS, POISON
from tests.delivery.schedules.sample_profile import sample_profile

NO_MARKS = ((),) * 8
"""Most schedules have no such records: their redrives leave few tallies to a recount."""
FREQUENCIES = {"advance": (30,), "write": (25,), "detached": (10, 30), "repeat": (0, 4)}
"""Of usual events: fewer than in other profiles, as the events of closing shards deliver too."""
CLOSING_PROFILES = (
    # Late repeats, zombies, killers, redrives and rollups of shards that were retired.
    sample_profile(
        "closing shards",
        78,
        entity_sets=(("Song",), ("Download",), ("Order",), ("Song", "Order")),
        actions=("put", "put", "delete", "expire"),
        mark_kinds=(*NO_MARKS, *POISON, *KILLERS),
        max_items=(1, 2, 3),
        retries=(0, *FEW_RETRIES),
        shards=(1, 1, 2),
        writes=(5, 8, 12),
        lengths=(30, 50, 80),
        fault_levels=(0.0, 0.0, 0.05),
        retirement="by all code",
        overtakers=("rollup", "redrive"),
        redrive_versions=(FIXED_CODE, NEW_CODE),
        events={
            **FREQUENCIES,
            "close_shard": (4, 10),
            "let_hours_pass": (4, 10),
            "fold_closed": (4, 10),
            "repeat_closed": (4, 12),
            "straggle": (1, 4),
            "redrive_closed": (0, 0, 4),
            "redrive": (0, 0, 5),
            "rollup": (8, 16),
            "overtake": (0, 4),
            "read": (0, 4),
            "deploy": (0, 4),
            "split": (0, 2),
            "tick": (0, 3),
            "load": (0,),
        },
    ),
    # No record is discarded, so no tally is left to a recount: every total is compared.
    sample_profile(
        "closing without discards",
        150,
        entity_sets=(("Song",), ("Download",), ("Order",), ("Song", "Order")),
        actions=("put", "put", "delete", "expire"),
        mark_kinds=NO_MARKS,
        max_items=(1, 2, 3),
        shards=(1, 1, 2),
        writes=(5, 8, 12),
        lengths=(30, 50, 80),
        fault_levels=(0.0, 0.0, 0.05),
        retirement="by all code",
        overtakers=("rollup",),
        discards=False,
        events={
            **FREQUENCIES,
            "close_shard": (4, 10),
            "let_hours_pass": (4, 10),
            "fold_closed": (4, 10),
            "repeat_closed": (4, 12),
            "straggle": (1, 4),
            "rollup": (8, 16),
            "overtake": (0, 4),
            "read": (0, 4),
            "deploy": (0, 4),
            "split": (0, 2),
            "tick": (0, 3),
            "load": (0,),
        },
    ),
    # The code that retires shards is deployed while attempts of code without rule 48 are under way.
    sample_profile(
        "closing upgrade",
        28,
        entity_sets=(("Song",), ("Download",), ("Order",)),
        actions=("put", "put", "delete"),
        max_items=(1, 2),
        retries=(0, 3, 300),
        shards=(1, 1, 2),
        writes=(5, 8, 12),
        lengths=(30, 50, 80),
        fault_levels=(0.0, 0.0, 0.05),
        retirement="by new code",
        overtakers=("rollup",),
        events={
            "upgrade": (3, 6),
            **FREQUENCIES,
            "close_shard": (4, 10),
            "let_hours_pass": (4, 10),
            "fold_closed": (4, 10),
            "repeat_closed": (4, 12),
            "straggle": (2, 4),
            "rollup": (8, 16),
            "overtake": (0, 8),
            "deploy": (0,),
            "load": (0,),
        },
    ),
)
