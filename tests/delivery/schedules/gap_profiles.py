"""Profiles of gaps in the stream, of lost tables, and of recoveries from them (rules 59, 60)."""

from __future__ import annotations

from daicho.testing.schedules.profile import POISON
from tests.delivery.schedules.sample_profile import sample_profile

_EVENTS = {
    "recover": (0, 20, 40),
    "kill_recovery": (0, 2),
    "pass_minute": (4, 10),
    "detached": (20,),
    "write": (15, 30),
    "repeat": (0, 8),
    "split": (0, 2),
    "rollup": (0, 4),
    "expire": (0,),
    "deploy": (0,),
    "load": (0,),
}

GAP_PROFILES = (
    sample_profile(
        "gaps",
        40,
        entity_sets=(("Song",), ("Order",)),
        actions=("put", "put", "edit", "touch", "delete"),
        max_items=(1, 2, 4),
        shards=(1, 2),
        writes=(6, 9, 14),
        lengths=(60, 100, 160),
        fault_levels=(0.0, 0.0, 0.05),
        timeouts=(300,),
        events={
            **_EVENTS,
            "recover_to_end": (2, 8),
            "disable_stream": (1, 3),
            "replace_stream": (0, 2),
            "stop_for_long": (0, 2),
        },
    ),
    # Records are set aside, and redriven while a recovery runs; some of them are lost.
    sample_profile(
        "gaps beside redrives",
        20,
        entity_sets=(("Song",), ("Order",)),
        actions=("put", "put", "edit", "delete"),
        max_items=(1, 2),
        shards=(1, 2),
        writes=(6, 12),
        lengths=(60, 120),
        fault_levels=(0.0, 0.0, 0.02),
        timeouts=(300,),
        mark_kinds=POISON,
        events={
            **_EVENTS,
            "recover_to_end": (2, 8),
            "lose_payload": (2, 4),
            "disable_stream": (0, 2),
            "replace_stream": (0, 2),
            "redrive": (2, 6),
        },
    ),
    # Items expire in a gap, and are archived from a copy of before.
    sample_profile(
        "gaps with expiry",
        20,
        entity_sets=(("Download",),),
        max_items=(2, 4),
        shards=(1, 2),
        writes=(9, 14),
        lengths=(60, 100, 160),
        fault_levels=(0.0, 0.0, 0.02),
        timeouts=(300,),
        events={
            **_EVENTS,
            "recover_to_end": (2, 8),
            "copy_items": (0, 4),
            "expire": (10, 30),
            "disable_stream": (1, 3),
            "replace_stream": (0, 2),
            "stop_for_long": (0, 2),
        },
    ),
    # The table is lost, and a torn copy takes its place; writers begin before the recovery.
    sample_profile(
        "take-overs",
        20,
        entity_sets=(("Song",), ("Order",), ("Song", "Order")),
        actions=("put", "put", "edit", "touch", "delete"),
        max_items=(1, 2, 4),
        shards=(1, 2),
        writes=(6, 9, 14),
        lengths=(60, 100, 160),
        fault_levels=(0.0, 0.0, 0.05),
        timeouts=(300,),
        events={
            **_EVENTS,
            "copy_table": (6, 10),
            "lose_table": (2, 4),
            "disable_stream": (0, 0, 1),
        },
    ),
)
