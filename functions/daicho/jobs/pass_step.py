"""One step of a job that scans the table in passes, and what it needs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, TypeVar

from daicho.errors import StoreError
from daicho.jobs.lease import JobStore
from daicho.jobs.record import PassRecord
from daicho.jobs.step import SAVE_INTERVAL, JobStep
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.storage.parallel_scan import ParallelScan, ScanRound, ScanSegments
from daicho.storage.requests import ItemPage, Scan
from daicho.storage.table import Table

SEGMENTS = 32
MAX_PARALLELISM = 4
"""Segments that are read at once: a page of each may hold some thousands of items to write."""


@dataclass(frozen=True, kw_only=True)
class PassDependencies:
    """The dependencies of a job that scans the table in passes.

    ``settle``: seconds after which every process has ended that may write for what the job removes
    or changes. ``segments``: of the table, of which ``parallelism`` are scanned at the same time.
    ``read`` limits read units a second.
    """

    store: Table
    now: Callable[[], dt.datetime]
    settle: int
    segments: int = SEGMENTS
    parallelism: int = MAX_PARALLELISM
    read: RateLimiter = field(default_factory=lambda: RateLimiter(None))

    @property
    def jobs(self) -> JobStore:
        """Where jobs are saved."""
        return JobStore(self.store, self.now)


On = TypeVar("On", bound=PassDependencies)
Job = TypeVar("Job", bound=PassRecord)
T = TypeVar("T")


class PassStep(Generic[On, Job]):
    """One step: how it scans and waits, and what it saves."""

    def __init__(self, on: On, job: Job, retry_budget: RetryBudget) -> None:
        self.on, self.job, self.budget = on, job, retry_budget
        self._saved = on.now()
        self._lock = Lock()

    def scan(
        self,
        scan: Scan,
        work: Callable[[ItemPage], T],
        count: Callable[[ScanRound[T]], Mapping[str, float]],
    ) -> bool:
        """Continue the scan of the pass; whether it is at its end.

        ``count``: what a round adds to the counts of the job.
        """
        job, on = self.job, self.on
        position = ScanSegments.resume(job.segments, on.segments)

        def save_round(scan_round: ScanRound[T]) -> None:
            job.segments = position.to_json()
            read, written = on.store.budget.take_total()
            job.add_counts(**count(scan_round), read_units=read, write_units=written)
            self.save_round()

        return ParallelScan(on.store, scan, work, on.parallelism, on.read).run(
            position, self.budget, save_round
        )

    def wait(self, seconds: int) -> JobStep:
        """End the step; the next one begins after so many seconds."""
        until = self.on.now() + dt.timedelta(seconds=seconds)
        self.job.waits = keys.render_instant(until) if seconds else ""
        self.save()
        return JobStep(done=False, wait=seconds)

    def record_finding(self) -> None:
        """Record that this pass has found something, before anything is written.

        Otherwise the rest of a pass whose step was killed could count as a proof.

        Raises:
            StoreError: it is not recorded.
        """
        job = self.job
        with self._lock:
            before, job.finding_pass = job.finding_pass, job.passes
            if before < job.passes:
                try:
                    self.save()
                except StoreError:
                    job.finding_pass = before
                    raise

    def save_round(self) -> None:
        """Save the job after a round of its scan."""
        self.save_at_intervals()

    def save(self) -> None:
        """Save the job."""
        self.on.jobs.save(self.job)
        self._saved = self.on.now()

    def save_at_intervals(self) -> None:
        """Save the job if the last save was some seconds ago."""
        if self.on.now() >= self._saved + SAVE_INTERVAL:
            self.save()
