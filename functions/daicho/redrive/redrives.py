"""Redrives that operators start: previewed, confirmed by their count, and worked on in steps."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ulid import ULID

from daicho.errors import BadCursor, Conflict, Invalid, StoreError
from daicho.jobs.lease import JobStore, is_under_way
from daicho.jobs.record import JOB_ID
from daicho.jobs.state_machine import StateMachine
from daicho.plan import Ledger
from daicho.redrive.claim_ids import ClaimId
from daicho.redrive.dismissal import DismissedItems
from daicho.redrive.job import PARTITION, RedriveJob, find_redrive, group_by_shard
from daicho.redrive.report import Action, RedrivePosition, RedriveReport, RedriveRequest
from daicho.redrive.set_aside import SetAsideRecords
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.storage.requests import Query
from daicho.storage.table import Table

Chosen = Sequence[ClaimId] | None
"""The chosen records; None for everything that is set aside."""
MAX_CHOSEN = 1_000
"""Chosen records of one redrive, with the added ones: its item has 400 KB."""


@dataclass(frozen=True)
class Preview:
    """What a redrive would work on.

    ``count``: of chosen records, with the ``added`` ones, which are older records that must be
    applied before them; of everything, the open claims and the discarded batches. ``items``: of a
    dismissal, as `RedriveReport.dismissals`.
    """

    count: int
    added: tuple[ClaimId, ...] = ()
    items: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Redrives:
    """The redrives and dismissals of one stack. ``records``: what was set aside."""

    store: Table
    records: SetAsideRecords
    ledger: Ledger
    machine: StateMachine
    now: Callable[[], dt.datetime]

    def preview(
        self, chosen: Chosen, retry_budget: RetryBudget, action: Action = "apply"
    ) -> Preview:
        """Count what a redrive of ``chosen`` would work on; None stands for everything.

        Raises:
            NotFound: a chosen record is not set aside: it is done, or never was.
            Invalid: nothing is chosen, or too much, or what is to be dismissed can be computed.
            UnavailableError: a store does not answer, or there is too little time.
        """
        return self._plan(chosen, retry_budget, action)[0]

    def start(
        self,
        chosen: Chosen,
        *,
        count: int,
        user: str,
        retry_budget: RetryBudget,
        action: Action = "apply",
    ) -> RedriveJob:
        """Start a redrive, or a dismissal, of as many records as its preview counted.

        Raises:
            Conflict: it would work on another number of records now.
            NotFound, Invalid, UnavailableError: as `preview`.
        """
        preview, closed = self._plan(chosen, retry_budget, action)
        if preview.count != count:
            raise Conflict(
                f"it would work on {preview.count} records now, not on {count}",
                field="count",
            )
        now = self.now()
        job = RedriveJob(
            str(ULID.from_datetime(now)),
            count,
            user,
            keys.render_instant(now),
            chosen=None if closed is None else group_by_shard(closed),
            claims=None if closed is None else len(closed),
            action=action,
            # Behind the preview: a first step that is repeated must not be refused.
            cursor=RedrivePosition("dismiss").cursor if action == "dismiss" else None,
        )
        jobs = JobStore(self.store, self.now)
        jobs.save(job, retry_budget)
        try:
            self.machine.start(job.machine_input["job"], job.machine_input)
        except StoreError:  # it may have been started: then its first step ends it
            job.state, job.error = "failed", "the state machine of jobs could not be started"
            jobs.save(job, retry_budget)
            raise
        return job

    def get(self, id: str) -> RedriveJob | None:
        """A redrive of the last 90 days; None if there is none of that id."""
        job = find_redrive(self.store, id) if JOB_ID.fullmatch(id) else None
        return None if job is None else self._judge(job)

    def list(
        self, cursor: str | None = None, limit: int = 50
    ) -> tuple[Sequence[RedriveJob], str | None]:
        """A page of the redrives of the last 90 days, newest first, and the next one's cursor.

        Raises:
            BadCursor: no cursor of this list.
        """
        if cursor is not None and not JOB_ID.fullmatch(cursor):
            raise BadCursor
        query = Query(
            PARTITION,
            below=cursor,
            forward=False,
            limit=limit,
            attributes=RedriveJob.list_shown_attributes(),
        )
        page = next(iter(self.store.query_pages(query)))
        jobs = tuple(self._judge(RedriveJob.from_image(item)) for item in page.items)
        return jobs, jobs[-1].id if page.last is not None and jobs else None

    def _plan(
        self, chosen: Chosen, retry_budget: RetryBudget, action: Action
    ) -> tuple[Preview, frozenset[ClaimId] | None]:
        """The preview, and the records to apply; None stands for everything."""
        if chosen is not None and not chosen:
            raise Invalid("no record is chosen", field="claims")
        if chosen is not None and len(set(chosen)) > MAX_CHOSEN:
            raise Invalid(_TOO_MANY.format("chosen"), field="claims")
        if action == "dismiss":
            ids = None if chosen is None else frozenset(chosen)
            request, report = RedriveRequest("preview", chosen=ids), RedriveReport()
            reader = self.records.open_reader(retry_budget)
            items = DismissedItems(reader, self.ledger, request, report, reads_items=False)
            if refused := items.preview(items.find(), self.now()):
                raise Invalid(refused, field="claims")
            count = sum(len(each["claims"]) for each in report.dismissals)
            return Preview(count, items=report.dismissals), ids
        if chosen is None:
            return Preview(self.records.count(retry_budget)), None
        closed = self.records.add_older(chosen, retry_budget)
        if len(closed) > MAX_CHOSEN:
            raise Invalid(_TOO_MANY.format("chosen, with the older ones,"), field="claims")
        added = closed - set(chosen)
        return Preview(len(closed), tuple(sorted(added))), closed

    def _judge(self, job: RedriveJob) -> RedriveJob:
        """The job; failed if nobody works on it any more."""
        if job.state != "running" or is_under_way(job, self.now()):
            return job
        return replace(job, state="failed", error="no step was saved for an hour: start another")


_TOO_MANY = f"more than {MAX_CHOSEN:,} records are {{}}; redrive everything instead"
