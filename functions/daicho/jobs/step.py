"""The steps of a job. The state machine repeats them until one of them is the last."""

from __future__ import annotations

import datetime as dt
from threading import Lock

from daicho.errors import StoreError
from daicho.jobs.lease import JobStore
from daicho.jobs.record import PassRecord
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import keys

SAVE_INTERVAL = dt.timedelta(seconds=5)
"""The longest stretch of work that is repeated after an interruption."""


@dataclass(frozen=True)
class JobStep:
    """The result of a step: whether the job is over for now, or how many seconds to wait.

    ``blocked``: whether it waits for somebody to remove a cause.
    """

    done: bool
    wait: int = 0
    blocked: bool = False

    def to_json(self) -> dict[str, object]:
        """As the state machine reads it."""
        return {"done": self.done, "wait": self.wait}


class PassStep:
    """One step of a job that scans the table in passes: how it waits, and what it saves."""

    def __init__(self, jobs: JobStore, job: PassRecord) -> None:
        self._jobs, self._record = jobs, job
        self._saved = jobs.now()
        self._lock = Lock()

    def wait(self, seconds: int) -> JobStep:
        """End the step; the next one begins after so many seconds."""
        until = self._jobs.now() + dt.timedelta(seconds=seconds)
        self._record.waits = keys.render_instant(until) if seconds else ""
        self.save()
        return JobStep(done=False, wait=seconds)

    def record_finding(self) -> None:
        """Record that this pass has found something, before anything is written.

        Otherwise the rest of a pass whose step was killed could count as a proof.

        Raises:
            StoreError: it is not recorded.
        """
        job = self._record
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
        self._jobs.save(self._record)
        self._saved = self._jobs.now()

    def save_at_intervals(self) -> None:
        """Save the job if the last save was some seconds ago."""
        if self._jobs.now() >= self._saved + SAVE_INTERVAL:
            self.save()
