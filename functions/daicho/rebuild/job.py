"""The item of a rebuild: what is built, and how far it has come.

There is one for the whole table, because one scan serves all entities::

    PK #rebuild   SK job
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from threading import Lock
from typing import Any, ClassVar, Literal, Protocol, Self

from daicho.errors import StoreError
from daicho.release.states import read_deployed
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho.storage.protocols import GetsItems
from daicho.storage.requests import to_key_image
from daicho.tenants.jobs import Jobs

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
DEPLOYMENT_WAIT_S = 15
"""The pause before a job looks again whether a deployment is over, in seconds."""
BLOCKED_WAIT_S = 60
"""The pause before a job that is blocked looks again, in seconds."""
MAX_NAMED = 100
"""Items that the job names, of those that it leaves."""


def build_job_id(asked_at: dt.datetime, rev: int) -> str:
    """The id of a request: its time, and the revision of the job's item that it replaces.

    Only one request can replace a revision, so no other request has this id.
    """
    return f"{asked_at:%Y%m%dT%H%M%S}-{rev}"


@dataclass(frozen=True)
class RebuildStep:
    """The result of a step: whether the job is over for now, or how many seconds to wait.

    ``blocked``: whether it waits for somebody to remove a cause.
    """

    done: bool
    wait: int = 0
    blocked: bool = False

    def to_json(self) -> dict[str, object]:
        """As the state machine reads it."""
        return {"done": self.done, "wait": self.wait}


@dataclass(kw_only=True)
class TableJob:
    """A job over the whole table, whose passes scan it until one finds nothing.

    ``passes``: the number of the pass; ``finding_pass``: the last one that found anything.
    ``began``: when the pass began. ``waits``: when the next step may begin. ``segments``: the
    position of the scan. ``total``: items of the whole table, about; ``seen``: items read in this
    pass. ``counts``: of all passes. ``rate``: write units a second.
    """

    KEY: ClassVar[ItemKey]
    id: str
    state: State = "running"
    passes: int = 1
    finding_pass: int = 0
    began: str = ""
    waits: str = ""
    segments: dict[str, Any] | None = None
    total: int = 0
    seen: int = 0
    counts: dict[str, float] = field(default_factory=dict)
    rate: float = 500.0
    reason: str = ""
    updated_at: str = ""
    finished_at: str = ""
    rev: int = 0

    def add_counts(self, **more: float) -> None:
        """Add to the counts."""
        for name, number in more.items():
            self.counts[name] = self.counts.get(name, 0) + number

    def is_under_way(self, now: dt.datetime) -> bool:
        """Whether an execution works on it. A step saves it, and takes 15 minutes at most."""
        if self.state not in ("running", "blocked"):
            return False
        return now < dt.datetime.fromisoformat(self.updated_at) + ABANDONED_AFTER

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

    def compute_wait(self, now: dt.datetime) -> int:
        """The whole seconds until the job may continue."""
        if not self.waits:
            return 0
        return max(0, math.ceil((dt.datetime.fromisoformat(self.waits) - now).total_seconds()))

    def to_image(self) -> Image:
        """The item."""
        values = {name: value for name, value in vars(self).items() if value not in ("", None)}
        return {**to_key_image(self.KEY), **attributes.to_image(values)}

    @classmethod
    def from_image(cls, image: Image) -> Self:
        """Read an item."""
        stored = attributes.from_image(image)
        names = {each.name for each in dataclasses.fields(cls)}
        values = {name: value for name, value in stored.items() if name in names}
        values["counts"] = {name: float(number) for name, number in stored["counts"].items()}
        for name in _NUMBERS & values.keys():
            values[name] = float(values[name])
        return cls(**values)


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


class JobDependencies(Protocol):
    """What each step of a job needs. ``settle``: see `Rebuild`."""

    @property
    def store(self) -> GetsItems:
        """The table."""

    @property
    def jobs(self) -> Jobs:
        """Where the job is saved."""

    @property
    def now(self) -> Callable[[], dt.datetime]:
        """The clock."""

    @property
    def settle(self) -> int:
        """Seconds after which what ran at the end of a deployment has ended."""


class JobStep:
    """One step of a job: what a rebuild and a purge have in common."""

    def __init__(self, on: JobDependencies, job: TableJob) -> None:
        self._dependencies, self._saved_job = on, job
        self._saved = on.now()
        self._lock = Lock()

    def wait_for_deployment(self) -> RebuildStep | None:
        """End the step while a deployment is under way; None if the step may go on.

        Before a pass that may be a proof, also wait until what ran before the deployment has ended.
        Until then it may write, and does not announce it.
        """
        job, on = self._saved_job, self._dependencies
        deployed = read_deployed(on.store)
        if deployed is None:
            job.reason = "a deployment is under way"
            return self.wait(DEPLOYMENT_WAIT_S)
        settled = deployed + dt.timedelta(seconds=on.settle)
        if job.passes > 1 and not job.began and settled > on.now():
            return self.wait(math.ceil((settled - on.now()).total_seconds()))
        return None

    def wait(self, seconds: int) -> RebuildStep:
        """End the step; the next one begins after so many seconds."""
        until = self._dependencies.now() + dt.timedelta(seconds=seconds)
        self._saved_job.waits = keys.render_instant(until) if seconds else ""
        self.save()
        return RebuildStep(done=False, wait=seconds)

    def block(self, reason: str) -> RebuildStep:
        """End the step; the next one looks whether the reason is gone."""
        self._saved_job.state, self._saved_job.reason = "blocked", reason
        return replace(self.wait(BLOCKED_WAIT_S), blocked=True)

    def record_finding(self) -> None:
        """Record that this pass has found something, before anything is written.

        Raises:
            StoreError: it is not recorded.
        """
        job = self._saved_job
        with self._lock:
            before, job.finding_pass = job.finding_pass, job.passes
            if before < job.passes:
                try:
                    self.save()
                except StoreError:
                    job.finding_pass = before
                    raise

    def save(self) -> None:
        """Save the job."""
        self._dependencies.jobs.save(self._saved_job)
        self._saved = self._dependencies.now()
