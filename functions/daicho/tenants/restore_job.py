"""A restore of archived items that a tenant's administrator asked for, as a job of several steps.

The job's time of request is the time of the restore in every step. So a step that repeats an
object after a kill recognises the items that the killed one wrote, and counts them. Counts and
cursor are saved together, at the end of an object: each row is counted once.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable
from copy import deepcopy
from dataclasses import field
from typing import Any, Protocol

from daicho.archive.reader import ArchiveReader, Selection
from daicho.archive.restorer import Restorer, RestoreReport, RestorerTable
from daicho.layout.tenant_items import build_job_key
from daicho.plan import Ledger
from daicho.release.refusals import ReleaseRefusedError
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho.storage.requests import to_key_image
from daicho.tenants.jobs import KIND, Jobs, JobStep, JobTable, State

RESTORE = "restore"
JOB_PREFIX = f"{RESTORE}-"
"""With the id of a restore: what the state machine gets as the job."""
RETENTION = dt.timedelta(days=90)
SAVE_INTERVAL = dt.timedelta(seconds=5)
MAX_NAMED = 20
"""The most rows and objects that a job names with the reason why they are not restored."""
MAX_REASON_CHARACTERS = 500
COUNTS = ("restored", "replaced", "already", "newer", "waiting", "failed")
"""The counts of a report that a job adds up over its steps."""
_EMPTY = ("", None)


class RestoreJobTable(JobTable, RestorerTable, Protocol):
    """The operations of the table that restores need."""


@dataclass
class RestoreJob:
    """One restore.

    ``since`` (inclusive), ``until`` (exclusive): the range of the deletion time. ``key``:
    partition key and sort key of the only item to restore. ``rows``: those that were selected, of
    ``items`` keys. ``counts``: as in `RestoreReport`, by name. ``unreadable``: names of objects
    that cannot be read. ``failures``: the first rows that cannot be restored, each with ``item``,
    which is its sort key, and ``reason``.
    """

    id: str
    tenant: str
    asked_by: str
    asked_at: str
    entity: str
    since: str
    until: str
    key: list[str] | None = None
    dry_run: bool = False
    over_newer: bool = False
    state: State = "running"
    rows: int = 0
    items: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    unreadable: list[str] = field(default_factory=list)
    failures: list[dict[str, str]] = field(default_factory=list)
    cursor: str = ""
    finished_at: str = ""
    error: str = ""
    updated_at: str = ""
    rev: int = 0

    @property
    def selection(self) -> Selection:
        """The rows to restore."""
        return Selection(
            (self.entity,),
            self.tenant,
            None if self.key is None else ItemKey(*self.key),
            dt.datetime.fromisoformat(self.since),
            dt.datetime.fromisoformat(self.until),
        )

    @property
    def machine_input(self) -> dict[str, str]:
        """The input of the state machine."""
        return {"tenant": self.tenant, "job": f"{JOB_PREFIX}{self.id}"}

    def to_image(self) -> Image:
        """The item."""
        asked_at = dt.datetime.fromisoformat(self.asked_at)
        values = {name: value for name, value in vars(self).items() if value not in _EMPTY}
        values |= {KIND: RESTORE, "ttl": int((asked_at + RETENTION).timestamp())}
        key = to_key_image(build_job_key(self.tenant, self.id))
        return {**key, **attributes.to_image(values)}

    @classmethod
    def from_image(cls, image: Image) -> RestoreJob:
        """Read an item."""
        stored = attributes.from_image(image)
        names = {field_spec.name for field_spec in dataclasses.fields(cls)}
        values = {name: value for name, value in stored.items() if name in names}
        return cls(**{"asked_by": "", **values})


@dataclass(frozen=True)
class RestoreJobs:
    """Works on restores. ``threads``: how many items are written at once."""

    store: RestoreJobTable
    archive: ArchiveReader
    ledger: Ledger
    now: Callable[[], dt.datetime]
    threads: int = 4

    @property
    def jobs(self) -> Jobs:
        """The items of jobs."""
        return Jobs(self.store, self.now)

    def find(self, tenant: str, id: str) -> RestoreJob | None:
        """A tenant's restore."""
        image = self.jobs.get_image(tenant, id)
        return None if image is None else RestoreJob.from_image(image)

    def run_step(self, tenant: str, name: str, retry_budget: RetryBudget) -> JobStep:
        """Do as much work as there is time for; ``name``: of the job, in the machine's input.

        Raises:
            StoreError: a store fails; the next step goes on.
        """
        job = self.find(tenant, name.removeprefix(JOB_PREFIX))
        if job is None or job.state != "running":
            return JobStep(done=True)
        asked_at = dt.datetime.fromisoformat(job.asked_at)
        restorer = Restorer(
            self.store, self.archive, self.ledger, threads=self.threads, now=lambda: asked_at
        )
        before, saved_at = deepcopy(job), self.now()

        def save_progress(report: RestoreReport) -> None:
            nonlocal saved_at
            _add_report(job, before, report)
            if self.now() >= saved_at + SAVE_INTERVAL:
                self.jobs.save(job)
                saved_at = self.now()

        try:
            report = restorer.restore(
                job.selection,
                dry_run=job.dry_run,
                over_newer=job.over_newer,
                resume=job.cursor,
                on_progress=save_progress,
                retry_budget=retry_budget,
            )
        except ReleaseRefusedError as error:
            self._end(job, str(error))
            return JobStep(done=True)
        if report.finished:
            _add_report(job, before, report)
            self._end(job)
            return JobStep(done=True)
        self.jobs.save(job)
        return JobStep(done=False)

    def fail_job(self, tenant: str, name: str, reason: str) -> None:
        """Record that nobody works on a job any more."""
        job = self.find(tenant, name.removeprefix(JOB_PREFIX))
        if job is not None and job.state == "running":
            self._end(job, reason)

    def _end(self, job: RestoreJob, error: str = "") -> None:
        job.state, job.error = ("failed" if error else "succeeded"), error[:1000]
        job.finished_at = keys.render_instant(self.now())
        self.jobs.save(job)


def _add_report(job: RestoreJob, before: RestoreJob, report: RestoreReport) -> None:
    """Set the progress of a job to what it was before a step, and the step's report."""
    job.rows, job.items, job.cursor = report.rows, report.items, report.cursor
    job.counts = {name: before.counts[name] + getattr(report, name) for name in COUNTS}
    job.unreadable = sorted({*before.unreadable, *report.broken})[:MAX_NAMED]
    named = [_describe_failure(each) for each in report.unrestorable]
    job.failures = [*before.failures, *named][:MAX_NAMED]


def _describe_failure(row: dict[str, Any]) -> dict[str, str]:
    return {"item": row["item"][1], "reason": str(row["error"])[:MAX_REASON_CHARACTERS]}
