"""Profiles of verifications, with damage that is inflicted on tallies (rules 36, 37 and 39)."""

from __future__ import annotations

from daicho.testing.schedules.profile import POISON
from tests.delivery.schedules.sample_profile import sample_profile

VERIFY_PROFILES = (
    sample_profile(
        "tally verifications",
        60,
        entity_sets=(("Song",), ("Order",)),
        actions=("put", "put", "edit", "touch", "delete"),
        max_items=(1, 2, 2, 4),
        shards=(1, 2),
        writes=(4, 8, 12),
        lengths=(80, 150, 300),
        fault_levels=(0.0, 0.0, 0.05),
        timeouts=(300,),
        events={
            "verify_tallies": (30, 60),
            "damage_tally": (2, 6),
            "kill_verify": (0, 2),
            "detached": (30,),
            "repeat": (0, 8),
            "split": (0, 3),
            "rollup": (0, 6),
            "deploy": (0,),
            "load": (0,),
        },
    ),
    # Records are set aside and redriven meanwhile, so many runs have no verdict.
    sample_profile(
        "verifications with poison",
        20,
        entity_sets=(("Song",), ("Order",)),
        actions=("put", "put", "edit", "delete"),
        max_items=(2, 4),
        shards=(1, 2),
        writes=(6, 12),
        lengths=(100, 200),
        fault_levels=(0.0, 0.0, 0.02),
        timeouts=(300,),
        mark_kinds=POISON,
        events={
            "verify_tallies": (40, 80),
            "redrive": (2, 8),
            "detached": (30,),
            "repeat": (0, 4),
            "split": (0, 2),
            "rollup": (0, 4),
            "deploy": (0, 4),
            "load": (0,),
        },
    ),
)
