"""Profiles whose schedules consist of rare events: restores, long pauses, another stream, races."""

from __future__ import annotations

from dataclasses import replace

from daicho.testing.faults.code_versions import FIXED_CODE, OLD_CODE
from daicho.testing.schedules.profile import FEW_RETRIES, POISON, SAME_DIRTY_SHARDS
from tests.delivery.sample_values import SAMPLE_ENTITIES
from tests.delivery.schedules.sample_profile import sample_profile

RARE_PROFILES = (
    # Archived items are restored, again and from several rows, changed, moved, and expire again.
    sample_profile(
        "restores",
        124,
        entity_sets=(("Download",),),
        actions=("put", "edit", "edit", "move", "move", "delete", "expire", "expire"),
        writes=(6, 9, 12),
        max_items=(1, 2),
        shards=(1, 2),
        parallelism=(3, 1),
        fault_levels=(0.0, 0.0, 0.05),
        events={
            "restore": (12, 25),
            "detached": (40, 80),
            "deploy": (0, 4),
            "day": (0, 0, 3),
            "expire": (0, 6),
            "rollup": (0, 4),
            "load": (0,),
        },
    ),
    # The stream is disabled and enabled: another label, and numbers that begin anew.
    sample_profile(
        "streams",
        17,
        shards=(1, 2),
        parallelism=(3, 1),
        fault_levels=(0.0, 0.0, 0.05),
        events={"restream": (6, 12), "repeat": (8, 16), "rollup": (0, 4), "deploy": (0,)},
    ),
    # Rollups overtake each other, and do not agree how many partitions hold dirty marks.
    sample_profile(
        "overtaken",
        5,
        entity_sets=(("Download",), ("Order",), ("Song",)),
        max_items=(1, 2),
        writes=(2, 3, 4),
        fault_levels=(0.0, 0.0, 0.05),
        shards=(1, 2),
        rollup_starts=(1, 2),
        dirty_shards=(SAME_DIRTY_SHARDS, (5, 2), (2, 5)),
        slow=0.4,
        overtakers=("rollup",),
        events={
            "write": (8,),
            "advance": (40,),
            "rollup": (20,),
            "overtake": (4, 12),
            "detached": (80,),
            "deploy": (0, 3),
            **dict.fromkeys(("abandon", "repeat", "load"), (0,)),
        },
    ),
    # Several writes of one invocation are in progress at the same time.
    sample_profile(
        "parallel",
        14,
        shards=(1, 2),
        parallelism=(2, 4),
        writes=(4, 6, 9),
        fault_levels=(0.02, 0.15),
        events={"write": (60,), "load": (0, 8), "rollup": (0, 8)},
    ),
    # Redrives write the rows of a record in parallel, and some of the writes fail.
    sample_profile(
        "redrives in parallel",
        10,
        max_items=(1, 2),
        parallelism=(2, 4),
        mark_kinds=POISON,
        retries=FEW_RETRIES,
        writes=(3, 5),
        fault_levels=(0.15,),
        events={"write": (40,), "redrive": (8, 20)},
    ),
    # Hours pass in which copies may still arrive, or days in which everything expires that can.
    sample_profile(
        "pauses",
        55,
        entity_sets=(("Song",), ("Order",), ("Download",)),
        actions=("put", "put", "delete", "delete", "expire"),
        max_items=(1, 2),
        shards=(2, 1, 2),
        pauses=(21.0, 20.5, 23.0, 22.0, 31 * 24.0),
        mark_kinds=((), (), *POISON),
        fault_levels=(0.0, 0.0, 0.05),
        events={
            "pause": (4, 8),
            "repeat": (12, 25),
            "detached": (40,),
            "rollup": (0, 4),
            "redrive": (0, 0, 4),
            "abandon": (0,),
        },
    ),
    # The projector is deployed hours after the API. No record is lost while it waits (rule 3).
    sample_profile(
        "outages",
        114,
        entity_sets=(("Song",), ("Download",), ("Song", "Order")),
        actions=("put", "put", "touch", "delete"),
        fault_levels=(0.0,),
        discards=False,
        events={
            "outage": (20,),
            "write": (60,),
            **dict.fromkeys(("abandon", "deploy", "rollup", "load"), (0,)),
        },
    ),
    # Archivers that were given up go on after the next one has begun, or has ended.
    sample_profile(
        "archive late",
        6,
        entity_sets=(("Download",),),
        actions=("put", "put", "delete"),
        max_items=(2, 3),
        shards=(1,),
        archive_retries=(0, 0, 1),
        writes=(1, 2),
        fault_levels=(0.0,),
        events={
            "archive_late": (4, 8),
            "advance": (60,),
            "detached": (40,),
            "redrive": (0, 4),
            **dict.fromkeys(("abandon", "repeat", "rollup", "deploy", "load"), (0,)),
        },
    ),
    # Batches of which a part was redriven long ago, while other redrives clean up.
    sample_profile(
        "cleaning",
        82,
        entities=replace(SAMPLE_ENTITIES, first_generation=2),
        entity_sets=(("Song",),),
        actions=("put", "put", "touch", "delete"),
        max_items=(2, 3),
        shards=(1,),
        retries=(0,),
        writes=(4, 6, 9),
        fault_levels=(0.0, 0.0, 0.05),
        pauses=(73.0,),
        redrive_versions=(FIXED_CODE, OLD_CODE, FIXED_CODE),
        events={
            "pause": (0, 2),
            "write": (60,),
            "advance": (80,),
            "redrive": (0, 4),
            "redrives": (5,),
            "detached": (60,),
            **dict.fromkeys(("deploy", "abandon", "repeat", "rollup", "load"), (0,)),
        },
    ),
)
