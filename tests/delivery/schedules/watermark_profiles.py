"""Profiles of the watermark of figures (rule 55)."""

from __future__ import annotations

from daicho.testing.schedules.profile import FEW_RETRIES, KILLERS, POISON
from tests.delivery.schedules.sample_profile import sample_profile

SETS = (("Song",), ("Download",), ("Order",), ("Song", "Order"))
FREQUENCIES = {"advance": (30,), "write": (25, 50), "pass_minutes": (12, 25), "load": (0,)}
WATERMARK_PROFILES = (
    # Rollups every minute, of which some are slow, fail or are overtaken, while shards are split.
    sample_profile(
        "as of",
        10,
        entity_sets=SETS,
        writes=(4, 6, 9),
        lengths=(40, 80),
        shards=(1, 2),
        fault_levels=(0.0, 0.0, 0.02, 0.1),
        heartbeat_s=45,
        slow=0.3,
        rollup_starts=(3, 1),
        overtakers=("rollup",),
        events={
            **FREQUENCIES,
            "rollup": (4, 20),
            "split": (0, 2, 4),
            "overtake": (0, 4),
            "deploy": (0, 3),
        },
    ),
    # Rollups are cut off, so that totals are late.
    sample_profile(
        "as of, cut off",
        6,
        entity_sets=SETS,
        writes=(6, 9),
        lengths=(40, 80),
        max_items=(2, 3),
        fault_levels=(0.0, 0.0, 0.05),
        heartbeat_s=45,
        rollup_seconds=(300, 30, 20, 14),
        rollup_starts=(1, 3),
        slow=0.3,
        events={
            **FREQUENCIES,
            "rollup": (0, 20),
            **dict.fromkeys(("repeat", "abandon"), (0,)),
            "detached": (20,),
            "deploy": (0,),
        },
    ),
    # Minute after minute, rollups have hardly time for a total: they are not complete.
    sample_profile(
        "as of, no time",
        3,
        entity_sets=SETS,
        writes=(4, 6),
        lengths=(40, 80),
        shards=(1,),
        timeouts=(300,),
        fault_levels=(0.0,),
        heartbeat_s=45,
        rollup_seconds=(10,),
        events={
            **FREQUENCIES,
            "pass_minutes": (25,),
            **dict.fromkeys(("rollup", "repeat", "abandon", "deploy", "split", "read"), (0,)),
        },
    ),
    # Records are set aside or discarded, and redriven at some time.
    sample_profile(
        "as of, set aside",
        20,
        entity_sets=SETS,
        mark_kinds=(*POISON, *KILLERS),
        retries=(0, *FEW_RETRIES, 300),
        writes=(3, 5, 8),
        lengths=(40, 80),
        fault_levels=(0.0, 0.0, 0.05),
        heartbeat_s=45,
        events={
            **FREQUENCIES,
            "redrive": (0, 4, 12),
            "abandon": (0, 4),
            "split": (0, 2),
            "deploy": (0, 4),
            "rollup": (4,),
        },
    ),
)
