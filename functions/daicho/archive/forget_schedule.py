"""The remaining work for tenants that are forgotten, done when it is due.

A *pass* goes through the archive in as many steps as necessary. It reads the objects that are
younger than the ones that an earlier run found clean: objects that could not be rewritten then,
and objects that were archived since. The last pass begins when every earlier deletion has
reached the archive. The tenant's mark holds the progress of a pass. So the next step continues
where a step ended, whether it ran out of time, failed, or lost its process.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from daicho.archive import forget_requests, forgetter
from daicho.archive.forget_requests import FORGOTTEN, SETTLE_PERIOD, ForgetPass, ForgetRequest
from daicho.archive.forgetter import REWRITE_GRACE, ForgetReport, Forgetter
from daicho.errors import ConditionFailedError, UnavailableError
from daicho.runtime.clock import utc_now
from daicho.runtime.retry import RetryBudget, retry_all
from daicho.storage.protocols import apply_update, try_update
from daicho.storage.requests import Query
from daicho.storage.table import Table

UNREADABLE_RETRY_INTERVAL = dt.timedelta(hours=24)
"""The interval at which unreadable objects are tried again."""
SAVE_INTERVAL = dt.timedelta(seconds=10)
"""The longest stretch of work that is repeated after an interruption."""
MAX_REPORTED = 500
"""The most objects of a tenant that an answer names."""


@dataclass
class ForgetRunReport:
    """The result of a run: a report for each tenant, of this run alone.

    ``failed``: tenants for which the table or the bucket failed, and the reason. ``waiting``: how
    many tenants have work left, now or later. ``overdue``: for how many seconds the first of them
    has been due.
    """

    reports: list[ForgetReport] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    waiting: int = 0
    overdue: float = 0.0

    @property
    def broken(self) -> dict[str, str]:
        """Objects that could not be read, and the reason."""
        return {name: error for report in self.reports for name, error in report.broken.items()}

    @property
    def counted(self) -> dict[str, float]:
        """Metrics."""
        failed = {*self.failed, *(report.tenant for report in self.reports if report.broken)}
        return {
            "ArchiveRowsForgotten": sum(report.rows for report in self.reports),
            "ForgettingsFailed": len(failed),
        }

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON values, with no more broken objects than fit into an answer."""
        reports = [report.to_json() for report in self.reports]
        for document in reports:
            document["broken"] = dict(islice(document["broken"].items(), MAX_REPORTED))
        return {**vars(self), "reports": reports}


class ForgetScheduler:
    """Continues the work that is due."""

    def __init__(
        self,
        store: Table,
        bucket: forgetter.ForgetterBucket,
        *,
        now: Callable[[], dt.datetime] = utc_now,
    ) -> None:
        self._store, self._now = store, now
        self._forgetter = Forgetter(store, bucket, now=now)

    def run(self, retry_budget: RetryBudget) -> ForgetRunReport:
        """Continue with every tenant that is due, as far as there is time.

        A failure of one tenant does not delay the others, and is retried while there is time.

        Raises:
            UnavailableError: the due tenants cannot be read from the table.
        """
        due = [request for request in self.list_waiting() if request.is_due(self._now())]
        reports = {request.tenant: ForgetReport(request.tenant) for request in due}
        run_report = ForgetRunReport(list(reports.values()))

        def attempt(request: ForgetRequest) -> None:
            try:
                self.resume(request, retry_budget, reports[request.tenant])
            except UnavailableError as error:
                run_report.failed[request.tenant] = str(error)
                raise
            run_report.failed.pop(request.tenant, None)

        retry_all(due, attempt, retry_budget)
        waiting = self.list_waiting()
        run_report.waiting = len(waiting)
        if waiting and waiting[0].again is not None:
            overdue = self._now() - waiting[0].again
            run_report.overdue = max(0.0, overdue.total_seconds())
        return run_report

    def list_waiting(self) -> list[ForgetRequest]:
        """The requests that have work left, in order of their due times."""
        requests = (
            ForgetRequest.from_item(item)
            for page in self._store.query_pages(Query(FORGOTTEN, consistent=True))
            for item in page.items
        )
        waiting = [
            (request.again, request.tenant, request)
            for request in requests
            if request.again is not None
        ]
        return [request for *_, request in sorted(waiting)]

    def resume(
        self,
        request: ForgetRequest,
        retry_budget: RetryBudget,
        report: ForgetReport,
        on_progress: Callable[[ForgetReport], None] = lambda _: None,
    ) -> None:
        """Continue one tenant's pass, or begin one, as far as there is time.

        Rows that were deleted after the request stay. ``report`` receives the results. It is not
        finished if work is left, if there is a newer request for the tenant, or if another process
        has finished the same pass before. ``on_progress`` receives it after each object.

        Raises:
            UnavailableError: the table or the bucket is unavailable; the next call continues.
        """
        try:
            mark = apply_update(
                self._store, forget_requests.start_pass_update(request, self._now()), "ALL_NEW"
            )
        except ConditionFailedError:
            return
        request = ForgetRequest.from_item(mark or {})
        current = request.current_pass or ForgetPass(self._now())
        report.cursor, report.again_at = current.cursor, current.ripe
        saved_at = self._now()
        for _ in self._forgetter.forget_through(report, until=request.until, since=request.clean):
            on_progress(report)
            if retry_budget.has_time_left and self._now() < saved_at + SAVE_INTERVAL:
                continue
            saved_at = self._now()
            progress = forget_requests.save_pass_update(request, _add_report(current, report))
            if not (try_update(self._store, progress) and retry_budget.has_time_left):
                return
        self._finish_pass(request, _add_report(current, report), report)

    def _finish_pass(
        self, request: ForgetRequest, current: ForgetPass, report: ForgetReport
    ) -> None:
        """Record whether work is left, and when it is due."""
        settles_at = request.requested_at + SETTLE_PERIOD
        due_times = [
            *([current.ripe] if current.ripe else ()),
            *([settles_at] if current.began < settles_at else ()),
            *([self._now() + UNREADABLE_RETRY_INTERVAL] if current.broken else ()),
        ]
        report.again_at = max(due_times, default=None)
        clean = current.began - REWRITE_GRACE
        report.finished = try_update(
            self._store,
            forget_requests.finish_pass_update(request, current, report.again_at, clean),
        )


def _add_report(current: ForgetPass, report: ForgetReport) -> ForgetPass:
    """The pass with the results of this step."""
    broken = current.broken or bool(report.broken)
    return ForgetPass(current.began, report.cursor, report.again_at, broken)
