"""Works on restores that administrators of tenants asked for, in jobs of several steps.

The job's time of request is the time of the restore in every step. So a step that repeats an
object after a kill recognises the items that the killed one wrote, and counts them. Counts and
cursor are saved together, at the end of an object: each row is counted once.
"""

from __future__ import annotations

import datetime as dt
from copy import deepcopy
from typing import Any, ClassVar

from daicho.archive.reader import ArchiveReader, Selection
from daicho.archive.restorer import Restorer, RestoreReport
from daicho.jobs.step import SAVE_INTERVAL, JobStep
from daicho.plan import Ledger
from daicho.release.refusals import ReleaseRefusedError
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import ItemKey
from daicho.tenants.restore_job import COUNTS, RestoreJob
from daicho.tenants.tenant_job import TenantJobWorker

ITEMS_PER_SECOND = 100
"""How many items of a tenant are restored a second, with a transaction and all that derives."""
MAX_NAMED = 20
"""The most rows and objects that a job names with the reason why they are not restored."""
MAX_REASON_CHARACTERS = 500


@dataclass(frozen=True)
class RestoreWorker(TenantJobWorker[RestoreJob]):
    """Works on restores. ``threads``: how many items are written at once."""

    RECORD: ClassVar = RestoreJob
    archive: ArchiveReader
    ledger: Ledger
    threads: int = 4

    def run_step(self, tenant: str, name: str, retry_budget: RetryBudget) -> JobStep:
        """Do as much work as there is time for; ``name``: of the job, in the machine's input.

        Raises:
            StoreError: a store fails; the next step continues.
        """
        job = self.find(tenant, name)
        if job is None:
            return JobStep(done=True)
        asked_at = dt.datetime.fromisoformat(job.asked_at)
        tools, pace = (self.store, self.archive, self.ledger), RateLimiter(ITEMS_PER_SECOND)
        restorer = Restorer(*tools, threads=self.threads, pace=pace, now=lambda: asked_at)
        before, saved_at = deepcopy(job), self.now()

        def save_progress(report: RestoreReport) -> None:
            nonlocal saved_at
            _add_report(job, before, report)
            if self.now() >= saved_at + SAVE_INTERVAL:
                self.jobs.save(job)
                saved_at = self.now()

        try:
            report = restorer.restore(
                _select_rows(job),
                dry_run=job.dry_run,
                over_newer=job.over_newer,
                resume=job.cursor,
                on_progress=save_progress,
                retry_budget=retry_budget,
            )
        except ReleaseRefusedError as error:
            self.end(job, str(error))
            return JobStep(done=True)
        if report.finished:
            _add_report(job, before, report)
            self.end(job)
            return JobStep(done=True)
        self.jobs.save(job)
        return JobStep(done=False)


def _add_report(job: RestoreJob, before: RestoreJob, report: RestoreReport) -> None:
    """Set the progress of a job to what it was before a step, and the step's report."""
    job.rows, job.items, job.cursor = report.rows, report.items, report.cursor
    job.counts = {name: before.counts[name] + getattr(report, name) for name in COUNTS}
    job.unreadable = sorted({*before.unreadable, *report.broken})[:MAX_NAMED]
    named = [_describe_failure(each) for each in report.unrestorable]
    job.failures = [*before.failures, *named][:MAX_NAMED]


def _describe_failure(row: dict[str, Any]) -> dict[str, str]:
    return {"item": row["item"][1], "reason": str(row["error"])[:MAX_REASON_CHARACTERS]}


def _select_rows(job: RestoreJob) -> Selection:
    """The rows that a job restores."""
    return Selection(
        (job.entity,),
        job.tenant,
        None if job.key is None else ItemKey(*job.key),
        dt.datetime.fromisoformat(job.since),
        dt.datetime.fromisoformat(job.until),
    )
