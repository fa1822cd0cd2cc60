"""The steps of a redrive that an operator started. The state machine of jobs repeats them.

A step is some calls of the redrive, and the job is saved after each. A step that is killed leaves
the job as it was after its last call. The next step applies the same records once more, and finds
those done that were applied: no record is applied twice, and none is counted twice.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable
from functools import partial
from math import ceil

from daicho.jobs.lease import JobStore, OvertakenError
from daicho.jobs.step import JobStep
from daicho.redrive.job import RedriveJob, find_redrive
from daicho.redrive.redrive import Redrive
from daicho.redrive.report import RedrivePosition, RedriveRequest
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget, retry
from daicho.storage.table import Table

RECORDS_PER_CALL = 100
CALLS_PER_STEP = 10
MAX_STEPS_WITHOUT_PROGRESS = 5
"""Steps after which the job fails: a record ends the process, or a store is unavailable."""
OVERTAKEN_WAIT_S = 15
"""The pause of a step that met another one of the same job, in seconds."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RedriveWorker:
    """Works on the redrives of one stack."""

    redrive: Redrive
    store: Table
    now: Callable[[], dt.datetime]

    def run_step(self, id: str, retry_budget: RetryBudget) -> JobStep:
        """Do a bounded part of a job. A job that is over, or has expired, is done.

        Raises:
            UnavailableError: the table does not answer.
        """
        try:
            return self._run_step(id, retry_budget)
        except OvertakenError as error:
            _log.info("another step continues: %s", error)
            return JobStep(done=False, wait=OVERTAKEN_WAIT_S)

    def _run_step(self, id: str, retry_budget: RetryBudget) -> JobStep:
        job = retry(partial(find_redrive, self.store, id), retry_budget)
        if job is None or job.state != "running":
            return JobStep(done=True)
        if job.begun >= MAX_STEPS_WITHOUT_PROGRESS:
            job.state = "failed"
            job.error = (
                f"{job.begun} steps got no further than {job.cursor or 'the start'}; "
                "the function's log names the record"
            )
            self._save(job, retry_budget)
            return JobStep(done=True)
        job.begun += 1  # saved first: a record may end the process
        self._save(job, retry_budget)
        for _ in range(CALLS_PER_STEP):
            if wait := self._run_call(job, retry_budget):
                return JobStep(done=False, wait=ceil(wait))
            if job.finished or job.begun or not retry_budget.has_time_left:
                break
        return JobStep(done=job.finished)

    def fail_job(self, id: str, reason: str, retry_budget: RetryBudget) -> JobStep:
        """Record that nobody works on a job any more: its last step."""
        job = retry(partial(find_redrive, self.store, id), retry_budget)
        if job is not None and job.state == "running":
            job.state, job.error = "failed", reason[:1000]
            self._save(job, retry_budget)
        return JobStep(done=True)

    def _run_call(self, job: RedriveJob, retry_budget: RetryBudget) -> float:
        """One call, and its result in the job; returns the seconds to wait for other code."""
        begin = RedrivePosition.parse(job.cursor)
        request = RedriveRequest(job.action, RECORDS_PER_CALL, begin, job.chosen_claims)
        report = self.redrive.run(request, retry_budget)
        job.add_report(report)
        if job.finished or job.cursor != begin.cursor or report.wait:
            job.begun = 0
        self._save(job, retry_budget)
        return report.wait

    def _save(self, job: RedriveJob, retry_budget: RetryBudget) -> None:
        JobStore(self.store, self.now).save(job, retry_budget)
