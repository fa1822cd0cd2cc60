"""The order in which a rollup works through dirty tallies: each tenant gets its share.

The next tally is one of the tenant that has cost the fewest requests in this run. So a tenant whose
tallies are many or expensive delays its own, and no others. Among equals, the tenant with the
oldest mark is first; the tallies of one tenant are in the order of their marks.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from threading import Lock

from daicho.storage import keys
from daicho.storage.attributes import Image

MAX_CLEARED_MARKS = 1_000
"""Dirty marks that a turn takes away. The next run finds the rest."""


@dataclass(eq=False)
class DirtyTally:
    """A tally, or a whole fast counter, with at least one dirty mark.

    ``partition``: the partition key of the tally, or of a marked item of the counter.
    ``marked_slots``: the numbers of the counter's slots with a mark. ``blocks``: the blocks of its
    slots as they were when its head had ``blocks_revision``; 0 if they are not known.
    """

    partition: str
    marked_slots: set[int] = field(default_factory=set)
    blocks: dict[int, Image] = field(default_factory=dict)
    blocks_revision: int = 0

    @property
    def tenant(self) -> str:
        """The tenant that it belongs to."""
        return keys.parse_first(self.partition)


@dataclass(frozen=True)
class TallyTurn:
    """What one turn of a tally has done. ``is_done``: it needs no other turn in this run.

    ``late``: its time was up. ``overtaken``: it was left to another rollup. ``requests``: how many
    it has begun.
    """

    slots_read: int = 0
    slots_folded: int = 0
    failed: bool = False
    late: bool = False
    overtaken: bool = False
    is_done: bool = True
    requests: int = 0


class FairQueue:
    """Dirty tallies that wait for their turns. Threads may share it."""

    def __init__(self, tallies: Iterable[DirtyTally]) -> None:
        self._lock = Lock()
        self._waiting: dict[str, deque[DirtyTally]] = {}
        for tally in tallies:
            self._waiting.setdefault(tally.tenant, deque()).append(tally)
        self._costs = dict.fromkeys(self._waiting, 0)
        self._places = {tenant: place for place, tenant in enumerate(self._waiting)}
        # A tenant is in the heap while tallies of it wait. Its cost there may be too low.
        self._heap = [(0, place, tenant) for tenant, place in self._places.items()]

    def take(self) -> DirtyTally | None:
        """The tally whose turn it is; None if none waits.

        A turn costs its tenant one request until `settle` reports what it has cost.
        """
        with self._lock:
            while self._heap:
                cost, _, tenant = heapq.heappop(self._heap)
                if cost < self._costs[tenant]:
                    self._push(tenant)
                    continue
                self._costs[tenant] += 1
                tally = self._waiting[tenant].popleft()
                if self._waiting[tenant]:
                    self._push(tenant)
                return tally
        return None

    def settle(self, tally: DirtyTally, request_count: int, *, is_done: bool) -> None:
        """End a turn of a tally, which has cost some requests. If it is not done, it waits again.

        It is the next of its tenant: what is begun is finished before more is begun.
        """
        with self._lock:
            self._costs[tally.tenant] += request_count - 1
            if not is_done:
                waiting = self._waiting[tally.tenant]
                waiting.appendleft(tally)
                if len(waiting) == 1:
                    self._push(tally.tenant)

    def _push(self, tenant: str) -> None:
        heapq.heappush(self._heap, (self._costs[tenant], self._places[tenant], tenant))
