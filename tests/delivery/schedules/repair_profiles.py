"""Profiles of rows that are damaged by hand, and of runs that write them again (rules 38, 57)."""

from __future__ import annotations

from daicho.testing.faults.code_versions import POISON_FOR_OLD_CODE, POISON_SOMETIMES
from tests.delivery.schedules.sample_profile import sample_profile

REPAIR_PROFILES = (
    # One or two items, of which rows are lost, moved, added, or get another number.
    sample_profile(
        "repairs",
        90,
        entity_sets=(("Song",), ("Download",), ("Order",), ("Song", "Order")),
        actions=("put", "put", "put", "touch", "delete"),
        max_items=(1, 1, 2),
        shards=(1, 2),
        writes=(3, 5, 8),
        lengths=(60, 100, 150),
        fault_levels=(0.0, 0.0, 0.05),
        events={
            "damage": (8, 20),
            "mend": (30, 60),
            "pause_mending": (0, 4),
            "repeat": (2, 8),
            "detached": (60,),
            "split": (0, 3),
            "rollup": (0, 4),
            "expire": (0,),
            "deploy": (0,),
            "load": (0,),
        },
    ),
    # Some touches are set aside, and redrives apply them.
    sample_profile(
        "repairs set aside",
        40,
        entity_sets=(("Song",), ("Order",)),
        actions=("put", "put", "delete"),
        max_items=(1, 1, 2),
        writes=(3, 5),
        lengths=(60, 100),
        mark_kinds=((POISON_SOMETIMES,), (POISON_FOR_OLD_CODE,)),
        fault_levels=(0.0, 0.0, 0.05),
        events={
            "damage": (8, 20),
            "mend": (30, 60),
            "redrive": (4, 12),
            "deploy": (0, 4),
            "repeat": (2, 8),
            "detached": (60,),
            "rollup": (0,),
            "expire": (0,),
            "load": (0,),
        },
    ),
    # What a run must not leave is prepared, and judged at once.
    sample_profile(
        "repairs judged",
        20,
        entity_sets=(("Song",), ("Order",)),
        actions=("put", "put", "delete"),
        max_items=(1, 2),
        shards=(1, 2),
        writes=(3, 5),
        lengths=(10, 20),
        mark_kinds=((), (), (POISON_SOMETIMES,)),
        fault_levels=(0.0,),
        redrive_versions=(),
        events={
            **dict.fromkeys(("mend_tombstone", "mend_runaway", "remove_left_rows"), (5, 10)),
            "mend_set_aside": (5, 10),
            "mend": (5,),
            "redrive": (0, 4),
            "split": (0, 3),
            **dict.fromkeys(("expire", "deploy", "load", "rollup", "abandon"), (0,)),
        },
    ),
)
