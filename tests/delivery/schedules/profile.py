"""What a class of schedules is: what is written, how often things happen, and what goes wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.delivery import code
from tests.delivery.actors import FAULTS
from tests.delivery.declared import BY_HAND, Declared

Entities = tuple[str, ...]

ONE_OF_EACH: tuple[Entities, ...] = (
    ("Song",),
    ("Download",),
    ("Order",),
    ("Song", "Download", "Order"),
)
HABITS: Mapping[str, tuple[int, ...]] = {
    "advance": (60,),
    "write": (25, 100),
    "ghost": (10, 40),
    "abandon": (0, 4, 12),
    "repeat": (0, 4, 12),
    "rollup": (0, 4, 20),
    "split": (0, 0, 2),
    "deploy": (0, 5, 12),
    "tick": (0, 3),
    "look": (0, 0, 2),
    "sweep": (0, 3),
    "load": (0, 3, 8),
}
"""How often each thing is done: one weight of each is drawn for a schedule."""


@dataclass(frozen=True)
class Profile:
    """A named class of schedules. ``share``: how many it gets, beside the others' shares.

    ``retries`` are the projector's: in practice 300; few of them show what is discarded, and
    the same of the archive's.
    ``shards`` are those at the start, ``seconds`` what an attempt has. ``rooms``: open claims
    that a shard takes; few of them show what happens when it is full. ``called``: what is written
    is written by the Book, as callers of the API ask, and not past it.
    """

    name: str
    share: int
    entities: tuple[Entities, ...] = ONE_OF_EACH
    actions: tuple[str, ...] = ("put", "put", "put", "touch", "delete", "expire")
    writes: tuple[int, ...] = (3, 4, 5, 8)
    items: tuple[int, ...] = (1, 2, 1, 3)
    faults: tuple[str, ...] = tuple(FAULTS)
    levels: tuple[float, ...] = (0.0, 0.02, 0.15)
    kinds: tuple[tuple[str, ...], ...] = ((),)
    habits: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    retries: tuple[int, ...] = (300,)
    archive_retries: tuple[int, ...] = (300,)
    rooms: tuple[int, ...] = (1000,)
    shards: tuple[int, ...] = (1, 1, 2)
    seconds: tuple[float, ...] = (300, 30, 6)
    declared: Declared = BY_HAND
    called: bool = False

    @property
    def weights(self) -> dict[str, tuple[int, ...]]:
        """How often each thing is done in this profile."""
        return {**HABITS, **self.habits}


POISON = (
    (code.POISON_LATE,),
    (code.POISON_OLD,),
    (code.POISON_NEW,),
    (code.POISON_BOTH,),
    (code.POISON_LATE,),
    (code.POISON_OLD, code.POISON_NEW, code.POISON_LATE),
)
KILLERS = (
    (code.KILLER_AND_POISON,),
    (code.KILLER,),
    (code.KILLER_AND_POISON,),
    (code.KILLER, code.KILLER_AND_POISON),
    (code.KILLER, code.POISON_OLD, code.POISON_LATE),
)
FEW = (0, 1, 3)
"""Retries after which a schedule comes to see what is discarded."""
