"""Profiles: classes of schedules. What is written, how often events occur, and which faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from daicho.testing.faults import code_versions
from daicho.testing.faults.fault_injector import OPERATION_FAULTS
from daicho.testing.schedules.event_owner import EventOwner, ScheduleParts
from daicho.testing.schedules.rare_events import RareEvents
from daicho.testing.simulated_entities import SimulatedEntities
from daicho.testing.stack_settings import DIRTY_SHARDS

EntityNames = tuple[str, ...]

EVENT_WEIGHTS: Mapping[str, tuple[int, ...]] = {
    "advance": (60,),
    "write": (25, 100),
    "detached": (10, 40),
    "abandon": (0, 4, 12),
    "repeat": (0, 4, 12),
    "rollup": (0, 4, 20),
    "split": (0, 0, 2),
    "deploy": (0, 5, 12),
    "tick": (0, 3),
    "read": (0, 0, 2),
    "expire": (0, 3),
    "load": (0, 3, 8),
}
"""The weights of each kind of event: one of each is drawn for a schedule."""
RARE_FAULTS: Mapping[str, float] = {"unprocessed": 40, "short page": 5}
"""The factor of the weights of faults that only rare operations can meet."""
SLOW_STEPS = 0.1
"""The share of its turns in which a slow process does anything."""
REDRIVE_VERSIONS = (code_versions.FIXED_CODE, code_versions.NEW_CODE, code_versions.OLD_CODE)
SAME_DIRTY_SHARDS = (DIRTY_SHARDS, DIRTY_SHARDS)


@dataclass(frozen=True)
class Profile:
    """A named class of schedules.

    A tuple of values is what one is picked from for each schedule.

    Attributes:
        name: seeds and stories refer to it.
        share: the number of its schedules, compared with the shares of other profiles.
        entities: the declarations, and the values of items.
        entity_sets: the entities that are written.
        actions: what writers do; a repeated one is done more often.
        writes: the number of writes.
        lengths: the number of events.
        max_items: the number of items of an entity.
        faults: the faults of single operations, of `OPERATION_FAULTS`.
        fault_levels: the weight of each fault, where 1 is the weight of no fault.
        mark_kinds: the kinds of poison and killers (see `code_versions`).
        events: the weights of events that differ from `EVENT_WEIGHTS`. ``day``, ``redrive`` and
            ``restore`` are not among those, so they occur only if they have a weight here.
        retries: of the projector's mapping. The stack has 300; with few, batches are discarded.
        archive_retries: the same of the archiver's mapping.
        max_open_claims: of a shard; with few, the quarantine is full at some time.
        shards: of the stream at the start.
        timeouts: of invocations, in seconds; each operation takes one.
        parallelism: the threads of a function.
        dirty_shards: the setting of the old code, and of the new and fixed code.
        rollup_starts: how often a rollup starts a tally over that other rollups are at.
        redrive_versions: the code that a redrive under way has. It is mostly newer than the
            projector's, because a redrive follows a fix. If there are none, it is the deployed one.
        slow: the share of rollups and redrives that are slow, so that others overtake them.
        discards: whether a mapping may discard records. If not, a discarded one is a difference.
    """

    name: str
    share: int
    entities: SimulatedEntities
    entity_sets: tuple[EntityNames, ...]
    actions: tuple[str, ...] = ("put", "put", "put", "touch", "delete", "expire")
    writes: tuple[int, ...] = (3, 4, 5, 8)
    lengths: tuple[int, ...] = (40, 100, 250)
    max_items: tuple[int, ...] = (1, 2, 1, 3)
    faults: tuple[str, ...] = tuple(OPERATION_FAULTS)
    fault_levels: tuple[float, ...] = (0.0, 0.02, 0.15)
    mark_kinds: tuple[tuple[str, ...], ...] = ((),)
    events: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    retries: tuple[int, ...] = (300,)
    archive_retries: tuple[int, ...] = (300,)
    max_open_claims: tuple[int, ...] = (1000,)
    shards: tuple[int, ...] = (1, 1, 2)
    timeouts: tuple[float, ...] = (300, 30, 6)
    parallelism: tuple[int, ...] = (1,)
    dirty_shards: tuple[tuple[int, int], ...] = (SAME_DIRTY_SHARDS,)
    rollup_starts: tuple[int, ...] = (3,)
    redrive_versions: tuple[int, ...] = REDRIVE_VERSIONS
    slow: float = 0.0
    discards: bool = True

    def build_owners(self, parts: ScheduleParts) -> Sequence[EventOwner]:
        """The owners of the events that `Schedule` itself does not have.

        Override it for events of your own, and name them in ``events``.
        """
        return (RareEvents(parts),)

    @property
    def event_weights(self) -> dict[str, tuple[int, ...]]:
        """The weights of each kind of event in this profile."""
        return {**EVENT_WEIGHTS, **self.events}


POISON = (
    (code_versions.POISON_SOMETIMES,),
    (code_versions.POISON_FOR_OLD_CODE,),
    (code_versions.POISON_FOR_NEW_CODE,),
    (code_versions.POISON_FOR_BOTH,),
    (code_versions.POISON_SOMETIMES,),
    (
        code_versions.POISON_FOR_OLD_CODE,
        code_versions.POISON_FOR_NEW_CODE,
        code_versions.POISON_SOMETIMES,
    ),
)
KILLERS = (
    (code_versions.KILLER_AND_POISON,),
    (code_versions.KILLER,),
    (code_versions.KILLER_AND_POISON,),
    (code_versions.KILLER, code_versions.KILLER_AND_POISON),
    (
        code_versions.KILLER,
        code_versions.POISON_FOR_OLD_CODE,
        code_versions.POISON_SOMETIMES,
    ),
)
FEW_RETRIES = (0, 1, 3)
"""So few that a schedule discards batches."""


def spread_evenly(profiles: Sequence[Profile]) -> list[Profile]:
    """Each profile as often as its share, evenly spread."""
    turns = [
        ((turn + (place + 1) / (len(profiles) + 1)) / profile.share, place)
        for place, profile in enumerate(profiles)
        for turn in range(profile.share)
    ]
    return [profiles[place] for _, place in sorted(turns)]
