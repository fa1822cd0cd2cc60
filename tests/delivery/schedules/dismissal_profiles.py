"""Profiles of bad images and of dismissals (rule 56)."""

from __future__ import annotations

from daicho.testing.faults.code_versions import (
    FIXED_CODE,
    NEW_CODE,
    OLD_CODE,
    POISON_FOR_NEW_CODE,
    POISON_FOR_OLD_CODE,
)
from tests.delivery.schedules.sample_profile import sample_profile

DISMISSAL_PROFILES = (
    # No code computes the bad images, which are anywhere in the history of an item. So no tally is
    # left to a recount: every total is compared.
    sample_profile(
        "dismissals",
        60,
        entity_sets=(("Song",), ("Download",), ("Order",)),
        actions=("put", "put", "edit", "touch", "delete", "expire"),
        max_items=(1, 1, 2),
        shards=(1, 2),
        writes=(4, 6, 9),
        lengths=(60, 100, 150),
        fault_levels=(0.0, 0.0, 0.05),
        redrive_versions=(NEW_CODE, FIXED_CODE),
        discards=False,
        events={
            "spoil": (20, 40),
            "dismiss": (10, 20),
            "delete_before_mark": (2, 8),
            "repair_late": (5, 15),
            "redrive_meanwhile": (0, 4),
            "detached": (60,),
            "repeat": (0, 8),
            "split": (0, 3),
            "rollup": (0, 4),
            "deploy": (0, 3),
            "load": (0,),
        },
    ),
    # Some images are bad for one of two codes, which both process the stream, redrive and dismiss.
    sample_profile(
        "disputed dismissals",
        60,
        entity_sets=(("Order",), ("Song",), ("Order",), ("Download",)),
        actions=("put", "put", "edit", "delete"),
        max_items=(6, 6, 1),
        shards=(1, 1, 2),
        writes=(2, 3, 5),
        lengths=(15, 30, 80),
        mark_kinds=((POISON_FOR_OLD_CODE,), (POISON_FOR_NEW_CODE,)),
        fault_levels=(0.0, 0.0, 0.0, 0.0, 0.0, 0.05),
        redrive_versions=(OLD_CODE, NEW_CODE),
        discards=False,
        events={
            "spoil": (0, 8),
            "dismiss": (15, 30),
            "redrive_meanwhile": (4, 12),
            "dispute": (20, 60),
            "dismiss_at_once": (10, 20),
            "detached": (60,),
            "deploy": (0, 0, 12),
            "repeat": (0, 8),
            "rollup": (0,),
            "load": (0,),
        },
    ),
)
