"""The profiles of the repository's own schedules, over sample entities.

Short schedules about one or two subjects find most faults and read best. How often an event occurs
is drawn for each schedule, so some are calm and some are not.
"""

from __future__ import annotations

from collections.abc import Iterator

from daicho.testing.faults import code_versions
from daicho.testing.schedules.default_profiles import build_profiles
from daicho.testing.schedules.profile import FEW_RETRIES, KILLERS, POISON
from daicho.testing.schedules.running import build_schedules
from daicho.testing.schedules.schedule import Schedule
from daicho.testing.simulated_entities import simulate_ledger
from tests.delivery import sample_entities as book_samples
from tests.delivery.book_requests import BookRequests, DocumentReads
from tests.delivery.schedules.chosen_profiles import CHOSEN_PROFILES
from tests.delivery.schedules.closing_profiles import CLOSING_PROFILES
from tests.delivery.schedules.dismissal_profiles import DISMISSAL_PROFILES
from tests.delivery.schedules.event_profiles import EVENT_PROFILES
from tests.delivery.schedules.expiry_profiles import EXPIRY_PROFILES
from tests.delivery.schedules.figure_profiles import FIGURE_PROFILES
from tests.delivery.schedules.gap_profiles import GAP_PROFILES
from tests.delivery.schedules.lifecycle_profiles import LIFECYCLE_PROFILES
from tests.delivery.schedules.move_back_profiles import MOVE_BACK_PROFILES
from tests.delivery.schedules.rare_profiles import RARE_PROFILES
from tests.delivery.schedules.rebuild_profiles import REBUILD_PROFILES
from tests.delivery.schedules.repair_profiles import REPAIR_PROFILES
from tests.delivery.schedules.row_profiles import ROW_PROFILES
from tests.delivery.schedules.sample_profile import sample_profile
from tests.delivery.schedules.service_profiles import SERVICE_PROFILES
from tests.delivery.schedules.spread_profiles import SPREAD_PROFILES
from tests.delivery.schedules.verification_profiles import VERIFICATION_PROFILES
from tests.delivery.schedules.watermark_profiles import WATERMARK_PROFILES
from tests.simulator.schedules.proof_profile import ProofProfile
from tests.support import sample_entities

PROFILES = (
    sample_profile("plain", 5, parallelism=(1, 3), events={"restream": (0, 3)}),
    sample_profile(
        "archive",
        8,
        entity_sets=(("Download",),),
        actions=("put", "put", "expire", "expire", "delete"),
        writes=(4, 6, 9),
        events={
            "split": (0, 2),
            "tick": (0, 3, 8),
            "expire": (0, 4),
            "deploy": (0, 5),
            "restore": (0, 3),
        },
    ),
    # The archiver discards batches, and redrives apply them at the same time (rule 22).
    sample_profile(
        "archive redrive",
        10,
        entity_sets=(("Download",),),
        actions=("put", "put", "expire", "expire", "delete"),
        writes=(4, 6, 9),
        max_items=(2, 3),
        fault_levels=(0.0, 0.05, 0.15),
        archive_retries=(0, 0, 1, 3),
        events={
            "redrive": (4, 12, 25),
            "overtake": (4, 12),
            "abandon": (2, 6, 12),
            "split": (0, 2),
            "expire": (0, 6),
            "day": (0, 0, 3),
            **dict.fromkeys(("rollup", "load"), (0,)),
        },
    ),
    sample_profile(
        "deploy",
        20,
        entity_sets=(("Song",), ("Song", "Order")),
        actions=("put", "put", "touch", "touch", "delete"),
        events={"deploy": (8, 20), "outage": (0, 2, 4)},
    ),
    sample_profile(
        "split",
        3,
        entity_sets=(("Song",), ("Order",), ("Song", "Download", "Order")),
        max_items=(2, 3),
        shards=(1, 2),
        parallelism=(1, 3),
        events={"split": (0, 4, 8), "restream": (0, 3)},
        writes=(4, 6, 9),
    ),
    # One item is changed again and again: in one batch or several, partly done, and late.
    sample_profile(
        "derived",
        9,
        entity_sets=(("Song",), ("Song",), ("Order",)),
        actions=("put", "put", "put", "delete"),
        max_items=(1,),
        shards=(1,),
        timeouts=(300, 30, 5, 4),
        events={
            **dict.fromkeys(("rollup", "load"), (0,)),
            "repeat": (4, 12, 25),
            "split": (0,),
            "expire": (0, 8),
        },
    ),
    # Writes fail for longer than an invocation lasts: a batch is partly done, and reported.
    sample_profile(
        "throttled",
        4,
        entity_sets=(("Song",), ("Order",)),
        actions=("put", "put", "put", "delete"),
        max_items=(1,),
        shards=(1,),
        timeouts=(30, 6),
        writes=(3, 4, 5),
        faults=("throttled key", "throttled table", "server error", "slow"),
        fault_levels=(0.15, 0.3),
        events={"write": (60,), "repeat": (0, 4), "rollup": (0,), "split": (0,), "abandon": (0,)},
    ),
    sample_profile(
        "rollup",
        5,
        entity_sets=(("Download",), ("Order",), ("Song",)),
        events={"rollup": (20, 40), "tick": (3,), "read": (0, 8)},
    ),
    sample_profile("load", 2, events={"load": (10, 25)}, writes=(2, 3)),
    sample_profile(
        "expiry",
        34,
        entity_sets=(("Order",), ("Song",), ("Order", "Song", "Download")),
        actions=("put", "put", "delete", "delete", "expire"),
        fault_levels=(0.0, 0.0, 0.1),
        events={"day": (3, 8), "expire": (8, 20), "abandon": (0, 2), "restream": (0, 3)},
    ),
    sample_profile(
        "poison",
        10,
        mark_kinds=POISON,
        max_open_claims=(1000, 1000, 2, 1),
        events={"deploy": (0, 4, 10), "redrive": (0, 5, 12)},
    ),
    sample_profile(
        "killers",
        84,
        mark_kinds=KILLERS,
        retries=FEW_RETRIES,
        events={"deploy": (0, 4), "redrive": (0, 5, 12)},
    ),
    sample_profile(
        "redrive",
        13,
        mark_kinds=(*POISON, *KILLERS, *KILLERS),
        retries=(*FEW_RETRIES, 300),
        fault_levels=(0.0, 0.0, 0.1),
        events={"deploy": (3, 8), "redrive": (12, 30)},
    ),
    # A discarded invocation may continue as a zombie while its records are redriven.
    sample_profile(
        "discards",
        11,
        entity_sets=(("Song",), ("Download",), ("Order",)),
        actions=("put", "put", "delete"),
        retries=(0,),
        fault_levels=(0.0, 0.0, 0.1),
        events={
            "abandon": (12, 25),
            "redrive": (12, 25),
            "detached": (40,),
            "rollup": (0, 4),
            "give_up": (6, 12),
        },
    ),
    # A record is claimed, redriven and repeated, by code that may not be able to process it.
    sample_profile(
        "redone",
        6,
        entity_sets=(("Song",), ("Order",), ("Download",)),
        max_items=(1, 2),
        shards=(1,),
        mark_kinds=(
            (code_versions.POISON_SOMETIMES,),
            (code_versions.POISON_FOR_OLD_CODE, code_versions.POISON_SOMETIMES),
            (code_versions.POISON_FOR_NEW_CODE,),
        ),
        writes=(1, 2, 3),
        fault_levels=(0.0, 0.0, 0.1),
        events={"redrive": (15, 30), "repeat": (12, 25), "rollup": (0, 4), "deploy": (0, 6)},
    ),
    # Two versions disagree about a record while it is announced, claimed and redriven.
    sample_profile(
        "uncertain",
        4,
        entity_sets=(("Song",), ("Order",), ("Download",)),
        max_items=(1,),
        shards=(1,),
        mark_kinds=(
            (code_versions.POISON_FOR_OLD_CODE,),
            (code_versions.POISON_FOR_NEW_CODE,),
            (code_versions.POISON_SOMETIMES,),
            POISON[-1],
        ),
        writes=(2, 3, 4),
        fault_levels=(0.0, 0.0, 0.05),
        events={
            "redrive": (8, 20),
            "deploy": (6, 12),
            "abandon": (8, 16),
            "detached": (20, 40),
            "repeat": (0, 8),
            "rollup": (0,),
        },
    ),
    # Redrives of discarded records, while later records are counted.
    sample_profile(
        "beside",
        8,
        entity_sets=(("Song",), ("Order",), ("Download",)),
        max_items=(1, 2),
        shards=(1,),
        mark_kinds=KILLERS,
        retries=(0,),
        writes=(3, 4, 6),
        fault_levels=(0.0, 0.0, 0.1),
        events={"redrive": (20, 40), "detached": (60,), "repeat": (8, 16), "rollup": (0,)},
    ),
    # Discarded records are redriven only after their slots were folded.
    sample_profile(
        "aged",
        8,
        entity_sets=(("Download",), ("Download",), ("Song",), ("Order",)),
        actions=("put", "put", "expire"),
        max_items=(2, 3),
        shards=(1, 2),
        mark_kinds=KILLERS,
        retries=(0,),
        writes=(4, 6, 9),
        fault_levels=(0.0, 0.0, 0.05),
        events={
            "quiet": (6, 12),
            "rollup": (10, 25),
            "redrive": (0, 0, 6),
            "advance": (120,),
            "write": (60,),
            "detached": (40,),
            "split": (0, 4, 8),
            **dict.fromkeys(("abandon", "repeat"), (0,)),
        },
    ),
    # Slots become idle, and change again while rollups fold them.
    sample_profile(
        "fold",
        10,
        entity_sets=(("Song",), ("Order",), ("Song",), ("Download",)),
        actions=("put", "put", "delete", "expire"),
        max_items=(2, 3),
        shards=(2,),
        writes=(9, 14, 20),
        fault_levels=(0.0, 0.0, 0.1),
        events={
            "advance": (120,),
            "write": (60,),
            "quiet": (6,),
            "read": (4, 12),
            "rollup": (15, 30),
            "detached": (40,),
            "expire": (4, 10),
            "split": (0, 2, 6),
            "abandon": (0, 2),
            "repeat": (0, 2),
        },
    ),
    sample_profile(
        "days",
        61,
        mark_kinds=((), *POISON, *KILLERS),
        retries=(*FEW_RETRIES, 300),
        fault_levels=(0.0, 0.0, 0.1),
        events={
            "day": (4, 8),
            "rollup": (4, 15),
            "redrive": (4, 12),
            "deploy": (0, 4),
            "expire": (6, 16),
            "restream": (0, 3),
        },
    ),
    sample_profile(
        "mixed",
        6,
        mark_kinds=((), *POISON, *KILLERS),
        retries=(*FEW_RETRIES, 300),
        writes=(5, 8, 12),
        events={
            "day": (0, 1),
            "redrive": (0, 5),
            "split": (0, 2),
            "deploy": (0, 3),
            "restore": (0, 3),
        },
    ),
    *RARE_PROFILES,
    *CHOSEN_PROFILES,
    *CLOSING_PROFILES,
    *DISMISSAL_PROFILES,
    *VERIFICATION_PROFILES,
    *GAP_PROFILES,
    *WATERMARK_PROFILES,
    *SPREAD_PROFILES,
    *LIFECYCLE_PROFILES,
    *MOVE_BACK_PROFILES,
    *REBUILD_PROFILES,
    *REPAIR_PROFILES,
    # Few voters vote, change their votes and withdraw them; their ballots are in many key shards.
    sample_profile(
        "ballots",
        6,
        entity_sets=(("Ballot",),),
        actions=("put", "put", "put", "delete"),
        max_items=(3, 2, 1),
        shards=(2, 1),
        writes=(4, 6, 9),
        events={"rollup": (4, 20), "split": (0, 4), "day": (0, 2), "read": (0, 6)},
    ),
    # Entities with every kind of declaration, with values drawn by their types.
    *build_profiles(simulate_ledger(sample_entities.LEDGER)),
    # The Book writes versions and moved items, and everything that belongs to them.
    ProofProfile(
        "callers",
        36,
        entities=book_samples.ENTITIES,
        requests=BookRequests,
        entity_sets=(("Article",), ("Manual",), ("CartItem",), book_samples.NAMES),
        mark_kinds=((), (), *POISON, *KILLERS),
        retries=(300, *FEW_RETRIES),
        writes=(6, 10, 16),
        fault_levels=(0.0, 0.02, 0.1),
        events={
            "write": (60, 120),
            "detached": (60, 120),
            "redrive": (0, 0, 5),
            "race_requests": (0, 40),
            "load": (0,),
            "deploy": (0, 3),
            "sweep": (0, 0, 4),
        },
    ),
    *EVENT_PROFILES,
    *EXPIRY_PROFILES,
    *FIGURE_PROFILES,
    *ROW_PROFILES,
    *SERVICE_PROFILES,
    # Documents, whose sections are staged, counted, replaced and removed in several writes.
    ProofProfile(
        "documents",
        36,
        entities=book_samples.ENTITIES,
        requests=BookRequests,
        entity_sets=(("Document",),),
        max_items=(1, 1, 2),
        writes=(10, 16, 24),
        shards=(1,),
        fault_levels=(0.0, 0.02, 0.1),
        events={
            "advance": (10,),
            "leftovers": (0, 60),
            "race_requests": (0, 60),
            "write": (60,),
            "detached": (120, 240),
            **dict.fromkeys(("abandon", "repeat", "rollup", "split", "load", "deploy"), (0,)),
            "sweep": (0, 8, 20),
        },
    ),
    # A document is replaced while it is read.
    ProofProfile(
        "documents read",
        8,
        entities=book_samples.ENTITIES,
        requests=DocumentReads,
        entity_sets=(("Document",),),
        max_items=(1,),
        writes=(16, 24),
        shards=(1,),
        fault_levels=(0.0,),
        events={
            "advance": (10,),
            "race_requests": (120,),
            "write": (60,),
            "detached": (120,),
            **dict.fromkeys(("abandon", "repeat", "rollup", "split", "load", "deploy"), (0,)),
        },
    ),
)
BY_NAME = {profile.name: profile for profile in PROFILES}


def build_all_schedules(count: int, first: int = 1) -> Iterator[Schedule]:
    """The schedules of so many seeds, of all profiles by their shares."""
    return build_schedules(PROFILES, count, first)
