"""Profiles of damaged rows, and of verifications (rule 35)."""

from __future__ import annotations

from daicho.testing.schedules.profile import POISON
from tests.delivery.schedules.sample_profile import sample_profile

VERIFICATION_PROFILES = (
    # One or two items change all the time, so that a suspect is often only late.
    sample_profile(
        "row verifications",
        60,
        entity_sets=(("Song",), ("Order",), ("Song",)),
        actions=("put", "put", "edit", "touch", "delete", "expire"),
        max_items=(1, 1, 2, 4),
        shards=(1, 2),
        mark_kinds=((), (), *POISON),
        writes=(6, 9, 14),
        lengths=(100, 150, 220),
        fault_levels=(0.0, 0.0, 0.05),
        discards=False,
        events={
            "damage_rows": (0, 0, 3, 8),
            "verify_rows": (40, 80),
            "write": (20, 40),
            "repeat": (0, 4),
            "redrive": (0, 0, 5),
            "split": (0, 3),
            "rollup": (0, 4),
            "deploy": (0,),
            "load": (0,),
        },
    ),
    # One item has few values, which come back, and is removed and created, while it is verified.
    sample_profile(
        "verifications beside writes",
        60,
        entity_sets=(("Song",), ("Order",)),
        actions=("put", "put", "put", "delete"),
        max_items=(1,),
        shards=(1,),
        writes=(20, 30),
        lengths=(150, 220),
        fault_levels=(0.0,),
        discards=False,
        events={
            "advance": (20, 40),
            "verify_rows": (60, 120),
            "write": (40, 80),
            "come_back": (10, 30),
            **dict.fromkeys(("abandon", "repeat", "rollup", "split", "load", "deploy"), (0,)),
        },
    ),
)
