"""The remaining work for tenants that are forgotten, done when it is due.

A *course* goes through the archive in as many steps as necessary. It reads the objects that are
younger than the ones that an earlier run found clean: objects that could not be rewritten then,
and objects that were archived since. The last course begins when every earlier deletion has
reached the archive. The tenant's mark holds the progress of a course. So the next step continues
where a step ended, whether it ran out of time, failed, or lost its process.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from daicho.archive import forget_requests, forgetter
from daicho.archive.forget_requests import FORGOTTEN, SETTLE_PERIOD, ForgetPass, ForgetRequest
from daicho.archive.forgetter import REWRITE_GRACE, ForgetReport, Forgetter
from daicho.errors import ConditionFailedError, UnavailableError
from daicho.runtime.clock import utc_now
from daicho.runtime.retry import RetryBudget, retry_all
from daicho.storage.protocols import QueriesItems, apply_update, try_update
from daicho.storage.requests import Query

UNREADABLE_RETRY_INTERVAL = dt.timedelta(hours=24)
"""The interval at which unreadable objects are tried again."""
SAVE_INTERVAL = dt.timedelta(seconds=10)
"""The longest stretch of work that is repeated after an interruption."""
MAX_REPORTED = 500
"""The most objects of a tenant that an answer names."""


class ForgetTable(forgetter.ForgetterTable, QueriesItems, Protocol):
    """The table operations that the scheduler needs."""


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
        return {name: why for report in self.reports for name, why in report.broken.items()}

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
        store: ForgetTable,
        bucket: forgetter.ForgetterBucket,
        *,
        now: Callable[[], dt.datetime] = utc_now,
    ) -> None:
        self._store, self._now = store, now
        self._forgetter = Forgetter(store, bucket, now=now)

    def run(self, patience: RetryBudget) -> ForgetRunReport:
        """Continue with every tenant that is due, as far as there is time.

        A failure of one tenant does not delay the others, and is retried while there is time.

        Raises:
            UnavailableError: the due tenants cannot be read from the table.
        """
        due = [mark for mark in self.list_waiting() if mark.is_due(self._now())]
        reports = {mark.tenant: ForgetReport(mark.tenant) for mark in due}
        report = ForgetRunReport(list(reports.values()))

        def attempt(mark: ForgetRequest) -> None:
            try:
                self.resume(mark, patience, reports[mark.tenant])
            except UnavailableError as error:
                report.failed[mark.tenant] = str(error)
                raise
            report.failed.pop(mark.tenant, None)

        retry_all(due, attempt, patience)
        left = self.list_waiting()
        report.waiting = len(left)
        if left and left[0].again is not None:
            report.overdue = max(0.0, (self._now() - left[0].again).total_seconds())
        return report

    def list_waiting(self) -> list[ForgetRequest]:
        """The marks of tenants that have work left, in order of their due times."""
        marked = (
            ForgetRequest.from_item(item)
            for page in self._store.query_pages(Query(FORGOTTEN, consistent=True))
            for item in page.items
        )
        waiting = [(mark.again, mark.tenant, mark) for mark in marked if mark.again is not None]
        return [mark for *_, mark in sorted(waiting)]

    def resume(
        self,
        mark: ForgetRequest,
        patience: RetryBudget,
        report: ForgetReport,
        on_progress: Callable[[ForgetReport], None] = lambda _: None,
    ) -> None:
        """Continue one tenant's course, or begin one, as far as there is time.

        Rows that were deleted after the request stay. ``report`` receives the results. It is not
        finished if work is left, if there is a newer request for the tenant, or if another process
        has finished the same course before. ``on_progress`` receives it after each object.

        Raises:
            UnavailableError: the table or the bucket is unavailable; the next call goes on.
        """
        try:
            begun = apply_update(
                self._store, forget_requests.start_pass_update(mark, self._now()), "ALL_NEW"
            )
        except ConditionFailedError:
            return
        mark = ForgetRequest.from_item(begun or {})
        course = mark.course or ForgetPass(self._now())
        report.cursor, report.again_at = course.cursor, course.ripe
        saved = self._now()
        for _ in self._forgetter.forget_through(report, until=mark.until, since=mark.clean):
            on_progress(report)
            if patience.has_time_left and self._now() < saved + SAVE_INTERVAL:
                continue
            saved = self._now()
            so_far = forget_requests.save_pass_update(mark, _sum_reports(course, report))
            if not (try_update(self._store, so_far) and patience.has_time_left):
                return
        self._finish_pass(mark, _sum_reports(course, report), report)

    def _finish_pass(self, mark: ForgetRequest, course: ForgetPass, report: ForgetReport) -> None:
        """Record whether work is left, and when it is due."""
        settled = mark.asked + SETTLE_PERIOD
        moments = [
            *([course.ripe] if course.ripe else ()),
            *([settled] if course.began < settled else ()),
            *([self._now() + UNREADABLE_RETRY_INTERVAL] if course.broken else ()),
        ]
        report.again_at = max(moments, default=None)
        clean = course.began - REWRITE_GRACE
        report.finished = try_update(
            self._store, forget_requests.finish_pass_update(mark, course, report.again_at, clean)
        )


def _sum_reports(course: ForgetPass, report: ForgetReport) -> ForgetPass:
    """A course with the results of this step."""
    broken = course.broken or bool(report.broken)
    return ForgetPass(course.began, report.cursor, report.again_at, broken)
