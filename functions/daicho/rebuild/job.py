"""The item of a rebuild: what is built, and how far it has come.

There is one for the whole table, because one scan serves all entities::

    PK #rebuild   SK job
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho.storage.requests import to_key_image

State = Literal["running", "paused", "blocked", "succeeded", "failed"]
Phase = Literal["touch", "prove", "fill"]
JOB_KEY = ItemKey(keys.render("", "rebuild"), "job")
SAVE_INTERVAL = dt.timedelta(seconds=5)
"""The longest stretch of work that is repeated after an interruption."""
_NUMBERS = {"rate", "effective_rate", "items_per_second", "units_per_second"}
WINDOW_S = 30.0
"""The stretch of time over which speeds are measured, in seconds."""
SHORTEST_S = 1.0
"""The shortest stretch that shows a speed, in seconds."""
ABANDONED_AFTER = dt.timedelta(hours=1)
"""Nobody works on a job that was not saved for longer than this."""
MAX_NAMED = 100
"""Items that the job names, of those that it leaves."""


def build_job_id(asked_at: dt.datetime, rev: int) -> str:
    """The id of a request: its time, and the revision of the job's item that it replaces.

    Only one request can replace a revision, so no other request has this id.
    """
    return f"{asked_at:%Y%m%dT%H%M%S}-{rev}"


@dataclass(frozen=True)
class RebuildStep:
    """The result of a step: whether the job is over for now, or how many seconds to wait."""

    done: bool
    wait: int = 0

    def to_json(self) -> dict[str, object]:
        """As the state machine reads it."""
        return {"done": self.done, "wait": self.wait}


class TableJob:
    """What the jobs over the whole table have in common."""

    state: State
    counts: dict[str, float]
    updated_at: str

    def add_counts(self, **more: float) -> None:
        """Add to the counts."""
        for name, number in more.items():
            self.counts[name] = self.counts.get(name, 0) + number

    def is_under_way(self, now: dt.datetime) -> bool:
        """Whether an execution works on it. A step saves it, and takes 15 minutes at most."""
        if self.state not in ("running", "blocked"):
            return False
        return now < dt.datetime.fromisoformat(self.updated_at) + ABANDONED_AFTER


@dataclass
class RebuildJob(TableJob):
    """One rebuild.

    ``targets``: the generation that the items of each entity are to have. ``passes``: the number of
    the pass; ``finding_pass``: the last one that found anything to touch. ``began``: when the pass
    began. ``waits``: when the next step may begin. ``segments``: the position of the scan.
    ``total``: items of the whole table, about. ``counts``: of all passes; ``seen``: items read in
    this pass. ``left``: keys of items that the new generation cannot derive, with the reasons.
    ``without``: whether the operator accepts that these are missing. ``rate``: write units a
    second. ``older_seen``: of each backfill item, when the pass began. ``filled_behind``: the last
    object of the archive whose rows were added to aggregates that keep expired items, and
    ``filled_at``: when the last rows were added. ``effective_rate``: the rate to which throttling
    has lowered ``rate``; 0 before the first write. ``items_per_second`` are read, for
    ``units_per_second`` written.
    """

    id: str
    targets: dict[str, int]
    asked_at: str
    state: State = "running"
    phase: Phase = "touch"
    passes: int = 1
    finding_pass: int = 0
    began: str = ""
    waits: str = ""
    segments: dict[str, Any] | None = None
    total: int = 0
    seen: int = 0
    counts: dict[str, float] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    without: bool = False
    rate: float = 500.0
    older_seen: dict[str, int] = field(default_factory=dict)
    filled_behind: str = ""
    filled_at: str = ""
    effective_rate: float = 0.0
    items_per_second: float = 0.0
    units_per_second: float = 0.0
    reason: str = ""
    updated_at: str = ""
    finished_at: str = ""
    rev: int = 0

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

    @property
    def seconds_left(self) -> int | None:
        """The seconds until this pass is over, at its present speed; None if that is unknown."""
        if self.phase != "touch" or not self.share or not self.items_per_second:
            return None
        return math.ceil(self.seen / self.items_per_second * (1 - self.share) / self.share)

    def compute_wait(self, now: dt.datetime) -> int:
        """The whole seconds until the job may continue."""
        if not self.waits:
            return 0
        return max(0, math.ceil((dt.datetime.fromisoformat(self.waits) - now).total_seconds()))

    @property
    def is_throttled(self) -> bool:
        """Whether throttling has lowered the rate."""
        return 0 < self.effective_rate < self.rate

    def to_image(self) -> Image:
        """The item."""
        values = {name: value for name, value in vars(self).items() if value not in ("", None)}
        return {**to_key_image(JOB_KEY), **attributes.to_image(values)}

    @classmethod
    def from_image(cls, image: Image) -> RebuildJob:
        """Read an item."""
        stored = attributes.from_image(image)
        names = {each.name for each in dataclasses.fields(cls)}
        values = {name: value for name, value in stored.items() if name in names}
        values["counts"] = {name: float(number) for name, number in stored["counts"].items()}
        for name in _NUMBERS & values.keys():
            values[name] = float(values[name])
        return cls(**values)


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
