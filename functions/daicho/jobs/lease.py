"""The lease of a job: which process works on it, and whether one does.

Each save requires the revision that the process has read or saved, and raises it. So one of two
processes that work on a job gives up. A job that was not saved for an hour is abandoned: a new
request begins it again.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import partial

from daicho.errors import ConditionFailedError, StoreError
from daicho.jobs.record import JobRecord, PassRecord
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget, retry
from daicho.storage import attributes, keys
from daicho.storage.requests import Put
from daicho.storage.table import Table

ABANDONED_AFTER = dt.timedelta(hours=1)
"""Nobody works on a job that was not saved for longer than this: a step takes 15 minutes."""


class OvertakenError(StoreError):
    """Another process has saved the job."""


def is_under_way(job: JobRecord, now: dt.datetime) -> bool:
    """Whether a process works on a job, or waits until the time that the job names."""
    if job.state not in ("running", "blocked"):
        return False
    since = max(job.updated_at, job.waits) if isinstance(job, PassRecord) else job.updated_at
    return now < dt.datetime.fromisoformat(since) + ABANDONED_AFTER


@dataclass(frozen=True)
class JobStore:
    """Saves jobs in one table."""

    store: Table
    now: Callable[[], dt.datetime]

    def save(self, job: JobRecord, retry_budget: RetryBudget | None = None) -> None:
        """Save a job. Its revision is raised only if it is known to be saved.

        After an error it is unknown whether this save succeeds later. It and the next save require
        the same revision, so only one of them does.

        Raises:
            OvertakenError: the job has changed since it was read.
            StoreError: it is unknown whether the job is saved.
        """
        previous = job.rev
        put = self.build_put(job)
        save = partial(self.store.put, put.item, condition=put.condition or "", values=put.values)
        try:
            if retry_budget is None:
                save()
            else:
                retry(save, retry_budget)
        except ConditionFailedError as refused:
            # It may be the answer to a repeat of this save, of which the first answer was lost.
            if refused.item is None or not attributes.equal_images(refused.item, put.item):
                job.rev = previous
                raise OvertakenError(f"job {job.id} was changed by another process") from None
        except StoreError:
            job.rev = previous
            raise

    def build_put(self, job: JobRecord) -> Put:
        """The save of a job as a part of a transaction. It raises the job's revision."""
        previous = job.rev
        job.rev, job.updated_at = previous + 1, keys.render_instant(self.now())
        condition = "rev = :rev" if previous else "attribute_not_exists(rev)"
        values = {":rev": {"N": str(previous)}} if previous else {}
        return Put(job.to_image(), condition, values=values)
