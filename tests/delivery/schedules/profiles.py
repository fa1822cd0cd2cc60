"""Classes of schedules: what is written, and what goes wrong.

Short schedules about one or two things find most and read best; how often a thing happens is
drawn anew for each schedule, so that some are calm and some are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tests.delivery import code
from tests.delivery.callers import ENTITIES as CALLED
from tests.delivery.declared import ALL_DOMAINS
from tests.delivery.schedules.profile import FEW, KILLERS, POISON, Entities, Profile

_STACK = ALL_DOMAINS.entities
DOMAINS: tuple[Entities, ...] = (
    *((each,) for each in _STACK),
    *pairwise(_STACK),
    *((_STACK,) * len(_STACK)),
)

PROFILES = (
    Profile("plain", 10),
    Profile(
        "archive",
        8,
        entities=(("Download",),),
        actions=("put", "put", "expire", "expire", "delete"),
        writes=(4, 6, 9),
        habits={"split": (0, 2), "tick": (0, 3, 8), "sweep": (0, 4)},
    ),
    # What the archive has to give up, and what brings it home while all goes on (rule 22).
    Profile(
        "archive redrive",
        10,
        entities=(("Download",),),
        actions=("put", "put", "expire", "expire", "delete"),
        writes=(4, 6, 9),
        items=(2, 3),
        levels=(0.0, 0.05, 0.15),
        archive_retries=(0, 0, 1, 3),
        habits={
            "redrive": (4, 12, 25),
            "abandon": (2, 6, 12),
            "split": (0, 2),
            "sweep": (0, 6),
            "day": (0, 0, 3),
            "rollup": (0,),
            "load": (0,),
        },
    ),
    Profile(
        "deploy",
        30,
        entities=(("Song",), ("Song", "Order")),
        actions=("put", "put", "touch", "touch", "delete"),
        habits={"deploy": (8, 20)},
    ),
    Profile(
        "split",
        6,
        entities=(("Song",), ("Order",), ("Song", "Download", "Order")),
        items=(2, 3),
        shards=(1, 2),
        habits={"split": (0, 4, 8)},
        writes=(4, 6, 9),
    ),
    # One item, again and again: in one batch or in many, half done, and late.
    Profile(
        "derived",
        18,
        entities=(("Song",), ("Song",), ("Order",)),
        actions=("put", "put", "put", "delete"),
        items=(1,),
        shards=(1,),
        seconds=(300, 30, 5, 4),
        habits={
            "rollup": (0,),
            "load": (0,),
            "repeat": (4, 12, 25),
            "split": (0,),
            "sweep": (0, 8),
        },
    ),
    # Writes fail for longer than an attempt lives: a part of a batch is done, and reported.
    Profile(
        "throttled",
        8,
        entities=(("Song",), ("Order",)),
        actions=("put", "put", "put", "delete"),
        items=(1,),
        shards=(1,),
        seconds=(30, 6),
        writes=(3, 4, 5),
        faults=("throttled key", "throttled table", "server error", "slow"),
        levels=(0.15, 0.3),
        habits={"write": (60,), "repeat": (0, 4), "rollup": (0,), "split": (0,), "abandon": (0,)},
    ),
    Profile(
        "rollup",
        10,
        entities=(("Download",), ("Order",), ("Song",)),
        habits={"rollup": (20, 40), "tick": (3,), "look": (0, 8)},
    ),
    Profile("load", 4, habits={"load": (10, 25)}, writes=(2, 3)),
    Profile(
        "expiry",
        32,
        entities=(("Order",), ("Song",), ("Order", "Song", "Download")),
        actions=("put", "put", "delete", "delete", "expire"),
        levels=(0.0, 0.0, 0.1),
        habits={"day": (3, 8), "sweep": (8, 20), "abandon": (0, 2)},
    ),
    Profile(
        "poison",
        12,
        kinds=POISON,
        rooms=(1000, 1000, 2, 1),
        habits={"deploy": (0, 4, 10), "redrive": (0, 5, 12)},
    ),
    Profile(
        "killers",
        10,
        kinds=KILLERS,
        retries=FEW,
        habits={"deploy": (0, 4), "redrive": (0, 5, 12)},
    ),
    Profile(
        "redrive",
        6,
        kinds=(*POISON, *KILLERS, *KILLERS),
        retries=(*FEW, 300),
        levels=(0.0, 0.0, 0.1),
        habits={"deploy": (3, 8), "redrive": (12, 30)},
    ),
    # What is given up is not always dead: it goes on while its records are redriven.
    Profile(
        "discards",
        8,
        entities=(("Song",), ("Download",), ("Order",)),
        actions=("put", "put", "delete"),
        retries=(0, 1),
        levels=(0.0, 0.0, 0.1),
        habits={"abandon": (12, 25), "redrive": (12, 25), "ghost": (40,), "rollup": (0, 4)},
    ),
    # A record is set aside, redriven, and comes again, to code that may not be able to read it.
    Profile(
        "redone",
        10,
        entities=(("Song",), ("Order",), ("Download",)),
        items=(1, 2),
        shards=(1,),
        kinds=((code.POISON_LATE,), (code.POISON_OLD, code.POISON_LATE), (code.POISON_NEW,)),
        writes=(1, 2, 3),
        levels=(0.0, 0.0, 0.1),
        habits={"redrive": (15, 30), "repeat": (12, 25), "rollup": (0, 4), "deploy": (0, 6)},
    ),
    # Two versions disagree about a record while it is announced, claimed and redriven.
    Profile(
        "uncertain",
        8,
        entities=(("Song",), ("Order",), ("Download",)),
        items=(1,),
        shards=(1,),
        kinds=((code.POISON_OLD,), (code.POISON_NEW,), (code.POISON_LATE,), POISON[-1]),
        writes=(2, 3, 4),
        levels=(0.0, 0.0, 0.05),
        habits={
            "redrive": (8, 20),
            "deploy": (6, 12),
            "abandon": (8, 16),
            "ghost": (20, 40),
            "repeat": (0, 8),
            "rollup": (0,),
        },
    ),
    # Redrives of what was given up, while the records behind it are being counted.
    Profile(
        "beside",
        8,
        entities=(("Song",), ("Order",), ("Download",)),
        items=(1, 2),
        shards=(1,),
        kinds=KILLERS,
        retries=(0,),
        writes=(3, 4, 6),
        levels=(0.0, 0.0, 0.1),
        habits={"redrive": (20, 40), "ghost": (60,), "repeat": (8, 16), "rollup": (0,)},
    ),
    # What was given up is redriven only after its slots were folded.
    Profile(
        "aged",
        8,
        entities=(("Download",), ("Download",), ("Song",), ("Order",)),
        actions=("put", "put", "expire"),
        items=(2, 3),
        shards=(1, 2),
        kinds=KILLERS,
        retries=(0,),
        writes=(4, 6, 9),
        levels=(0.0, 0.0, 0.05),
        habits={
            "quiet": (6, 12),
            "rollup": (10, 25),
            "redrive": (0, 0, 6),
            "advance": (120,),
            "write": (60,),
            "ghost": (40,),
            "split": (0, 4, 8),
            "abandon": (0,),
            "repeat": (0,),
        },
    ),
    # Slots become idle, and are counted in again while rollups are at them.
    Profile(
        "fold",
        10,
        entities=(("Song",), ("Order",), ("Song",), ("Download",)),
        actions=("put", "put", "delete", "expire"),
        items=(2, 3),
        shards=(2,),
        writes=(9, 14, 20),
        levels=(0.0, 0.0, 0.1),
        habits={
            "advance": (120,),
            "write": (60,),
            "quiet": (6,),
            "look": (4, 12),
            "rollup": (15, 30),
            "ghost": (40,),
            "sweep": (4, 10),
            "split": (0, 2, 6),
            "abandon": (0, 2),
            "repeat": (0, 2),
        },
    ),
    Profile(
        "days",
        7,
        kinds=((), *POISON, *KILLERS),
        retries=(*FEW, 300),
        levels=(0.0, 0.0, 0.1),
        habits={
            "day": (4, 8),
            "rollup": (4, 15),
            "redrive": (4, 12),
            "deploy": (0, 4),
            "sweep": (6, 16),
        },
    ),
    Profile(
        "mixed",
        6,
        kinds=((), *POISON, *KILLERS),
        retries=(*FEW, 300),
        writes=(5, 8, 12),
        habits={"day": (0, 1), "redrive": (0, 5), "split": (0, 2), "deploy": (0, 3)},
    ),
    # Few voters, who vote, change their minds and withdraw; their ballots lie in many shards.
    Profile(
        "ballots",
        6,
        entities=(("Ballot",),),
        actions=("put", "put", "put", "delete"),
        items=(3, 2, 1),
        shards=(2, 1),
        writes=(4, 6, 9),
        habits={"rollup": (4, 20), "split": (0, 4), "day": (0, 2), "look": (0, 6)},
    ),
    # The stack's own entities: each alone, two by two, and all in one table.
    Profile(
        "domains",
        20,
        declared=ALL_DOMAINS,
        entities=DOMAINS,
        writes=(4, 6, 10),
        habits={"split": (0, 2), "rollup": (4, 20), "deploy": (0,)},
    ),
    Profile(
        "domains redriven",
        12,
        declared=ALL_DOMAINS,
        entities=DOMAINS,
        kinds=((), *POISON, *KILLERS),
        retries=(*FEW, 300),
        archive_retries=(*FEW, 300),
        writes=(4, 6, 10),
        habits={"day": (0, 1), "redrive": (0, 5), "split": (0, 2), "deploy": (0, 3)},
    ),
    # Versions and moves, and all that is kept beside items in one transaction, as the Book has it.
    Profile(
        "callers",
        12,
        declared=ALL_DOMAINS,
        called=True,
        entities=(("Article",), ("Manual",), ("CartItem",), CALLED),
        kinds=((), (), *POISON, *KILLERS),
        retries=(300, *FEW),
        writes=(6, 10, 16),
        levels=(0.0, 0.02, 0.1),
        habits={
            "write": (60, 120),
            "ghost": (60, 120),
            "redrive": (0, 0, 5),
            "load": (0,),
            "deploy": (0, 3),
            "tidy": (0, 0, 4),
        },
    ),
    # Documents, whose sections are staged, counted, replaced and cleared in several writes.
    Profile(
        "documents",
        12,
        declared=ALL_DOMAINS,
        called=True,
        entities=(("Document",),),
        items=(1, 1, 2),
        writes=(4, 8, 12),
        shards=(1,),
        levels=(0.0, 0.02, 0.1),
        habits={
            "advance": (10,),
            "write": (60,),
            "ghost": (120, 240),
            "abandon": (0,),
            "repeat": (0,),
            "rollup": (0,),
            "split": (0,),
            "load": (0,),
            "deploy": (0,),
            "tidy": (0, 8, 20),
        },
    ),
)
BY_NAME = {each.name: each for each in PROFILES}


def in_turn() -> list[Profile]:
    """All of them, each as often as its share says and evenly spread."""
    return [each for _, each in sorted(_turns(), key=lambda turn: turn[0])]


def _turns() -> Iterator[tuple[float, Profile]]:
    for place, profile in enumerate(PROFILES):
        for turn in range(profile.share):
            yield (turn + (place + 1) / (len(PROFILES) + 1)) / profile.share, profile
