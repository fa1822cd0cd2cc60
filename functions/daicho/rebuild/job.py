"""The item of a rebuild: what is built, and how far it has come.

There is one for the whole table, because one scan serves all entities::

    PK #rebuild   SK job
"""

from __future__ import annotations

import datetime as dt
import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import ClassVar, Literal

from daicho.jobs.record import PassRecord
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import keys
from daicho.storage.attributes import ItemKey

State = Literal["running", "paused", "blocked", "succeeded", "failed"]
Phase = Literal["touch", "prove", "fill"]
JOB_KEY = ItemKey(keys.render("", "rebuild"), "job")
WINDOW_S = 30.0
"""The stretch of time over which speeds are measured, in seconds."""
SHORTEST_S = 1.0
"""The shortest stretch that shows a speed, in seconds."""
MAX_NAMED = 100
"""Items that the job names, of those that it leaves."""


def build_job_id(asked_at: dt.datetime, rev: int) -> str:
    """The id of a request: its time, and the revision of the job's item that it replaces.

    Only one request can replace a revision, so no other request has this id.
    """
    return f"{asked_at:%Y%m%dT%H%M%S}-{rev}"


@dataclass(kw_only=True)
class TableJob(PassRecord):
    """A job over the whole table, of which there is one at a time.

    ``total``: items of the whole table, about; ``seen``: items read in this pass. ``rate``: write
    units a second.
    """

    KEY: ClassVar[ItemKey]
    state: State = "running"  # type: ignore[assignment]  # it can be paused and blocked too
    total: int = 0
    seen: int = 0
    rate: float = 500.0
    reason: str = ""

    @property
    def item_key(self) -> ItemKey:
        """The key of the item."""
        return self.KEY

    @property
    def is_requested(self) -> bool:
        """Whether it was requested, and nothing else was saved since: see `build_job_id`."""
        return self.state == "running" and self.id.endswith(f"-{self.rev - 1}")

    @property
    def share(self) -> float:
        """The part of this pass that is done.

        The segments of a scan have about one size. So those that are over show it while the size
        of the table is unknown.
        """
        if self.total:
            return min(1.0, self.seen / self.total)
        if self.segments is None:
            return 0.0
        return 1 - len(self.segments["starts"]) / int(self.segments["total"])

    @property
    def percent(self) -> int:
        """How much of this pass is done, in whole percent; it is not over before 100."""
        return min(99, int(100 * self.share))


@dataclass
class RebuildJob(TableJob):
    """One rebuild.

    ``targets``: the generation that the items of each entity are to have. ``left``: keys of items
    that the new generation cannot derive, with the reasons. ``without``: whether the operator
    accepts that these are missing. ``older_seen``: of each backfill item, when the pass began.
    ``filled_behind``: the last object of the archive whose rows were added to aggregates that keep
    expired items, and ``filled_at``: when the last rows were added. ``effective_rate``: the rate to
    which throttling has lowered ``rate``; 0 before the first write. ``items_per_second`` are read,
    for ``units_per_second`` written. ``taken``: how many of the items that are left have a unique
    value that another item has.
    """

    KEY: ClassVar = JOB_KEY
    id: str
    targets: dict[str, int]
    asked_at: str
    phase: Phase = "touch"
    left: dict[str, str] = field(default_factory=dict)
    without: bool = False
    older_seen: dict[str, int] = field(default_factory=dict)
    filled_behind: str = ""
    filled_at: str = ""
    effective_rate: float = 0.0
    items_per_second: float = 0.0
    units_per_second: float = 0.0
    taken: int = 0

    @property
    def machine_input(self) -> dict[str, str]:
        """What the state machine of jobs gets. No tenant has an empty name."""
        return {"tenant": "", "job": self.id}

    def covers(self, targets: Mapping[str, int]) -> bool:
        """Whether resuming the job builds ``targets``: generations by entity."""
        return self.state != "succeeded" and targets.keys() <= self.targets.keys()

    @property
    def seconds_left(self) -> int | None:
        """The seconds until this pass is over, at its present speed; None if that is unknown."""
        if self.phase != "touch" or not self.share or not self.items_per_second:
            return None
        return math.ceil(self.seen / self.items_per_second * (1 - self.share) / self.share)

    @property
    def is_throttled(self) -> bool:
        """Whether throttling has lowered the rate."""
        return 0 < self.effective_rate < self.rate


@dataclass
class SpeedMeter:
    """Measures one step of a rebuild, and records the speeds in its job."""

    now: Callable[[], dt.datetime]
    _samples: deque[tuple[dt.datetime, int, float]] = field(default_factory=deque, init=False)

    def begin(self, job: RebuildJob) -> None:
        """Measure from here on."""
        self._samples.clear()
        self._samples.append((self.now(), job.seen, job.counts.get("write_units", 0.0)))

    def measure(self, job: RebuildJob) -> None:
        """Record the speeds of the last half minute, if that much time is over."""
        now, samples = self.now(), self._samples
        units = job.counts.get("write_units", 0.0)
        while len(samples) > 1 and (now - samples[1][0]).total_seconds() >= WINDOW_S:
            samples.popleft()
        began, seen, written = samples[0]
        elapsed = (now - began).total_seconds()
        if elapsed >= SHORTEST_S:
            job.items_per_second = (job.seen - seen) / elapsed
            job.units_per_second = (units - written) / elapsed
        if (now - samples[-1][0]).total_seconds() >= SHORTEST_S:
            samples.append((now, job.seen, units))
