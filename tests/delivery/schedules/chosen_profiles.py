"""Profiles of redrives of chosen records (rules 15 and 16)."""

from __future__ import annotations

from daicho.testing.faults.code_versions import FIXED_CODE, NEW_CODE
from daicho.testing.schedules.profile import FEW_RETRIES, KILLERS, POISON
from tests.delivery.schedules.sample_profile import sample_profile

CHOSEN_PROFILES = (
    # Jobs and calls over random claims, while shards split, batches are discarded, and redrives of
    # everything and late repeats are under way. Few items, so that an item has several claims.
    sample_profile(
        "chosen redrives",
        149,
        entity_sets=(("Song",), ("Download",), ("Order",)),
        actions=("put", "put", "put", "delete"),
        mark_kinds=(*POISON, *POISON, *KILLERS),
        lengths=(100, 100, 250),
        max_items=(1, 1, 2),
        retries=FEW_RETRIES,
        shards=(1, 2),
        writes=(5, 8, 12),
        parallelism=(1, 1, 3),
        fault_levels=(0.0, 0.0, 0.05),
        redrive_versions=(FIXED_CODE, FIXED_CODE, NEW_CODE),
        events={
            "redrive_chosen": (20, 40),
            "redrive": (0, 0, 8),
            "detached": (20, 40),
            "split": (0, 3, 6),
            "deploy": (0, 3),
            "repeat": (0, 8),
            "rollup": (0, 4),
            "day": (0, 0, 1),
        },
    ),
)
