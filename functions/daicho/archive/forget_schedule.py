"""What is left to do for tenants that are forgotten, when its time has come.

A *course* goes through the archive in as many steps as it takes. It looks at what is younger than
a run before it found clean: objects that could not be rewritten then, and those that were archived
since. The last one begins when nothing that was deleted before is on its way any more. How far a
course is stands in the tenant's mark, so that the next step goes on where one ended: out of time,
in an error, or with its process.
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
"""So often what nobody could read is tried again."""
SAVE_INTERVAL = dt.timedelta(seconds=10)
"""What is done twice at most after a cut."""
MAX_REPORTED = 500
"""Objects of a tenant that are named in an answer."""


class ForgetTable(forgetter.ForgetterTable, QueriesItems, Protocol):
    """What this needs of the table."""


@dataclass
class ForgetRunReport:
    """What a run did: a report for each tenant, of this run alone.

    ``failed``: tenants for whom the table or the bucket did not do it, and why. ``waiting``: how
    many have more to do, now or later; ``overdue``: for how many seconds the first of them has
    been due.
    """

    reports: list[ForgetReport] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    waiting: int = 0
    overdue: float = 0.0

    @property
    def broken(self) -> dict[str, str]:
        """Objects that nobody could read, and why."""
        return {name: why for each in self.reports for name, why in each.broken.items()}

    @property
    def counted(self) -> dict[str, float]:
        """Metrics."""
        failed = {*self.failed, *(each.tenant for each in self.reports if each.broken)}
        return {
            "ArchiveRowsForgotten": sum(each.rows for each in self.reports),
            "ForgettingsFailed": len(failed),
        }

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON values; of what is broken no more than an answer holds."""
        reports = [each.to_json() for each in self.reports]
        for each in reports:
            each["broken"] = dict(islice(each["broken"].items(), MAX_REPORTED))
        return {**vars(self), "reports": reports}


class ForgetScheduler:
    """Goes on with what is due."""

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
        """Go on with every tenant that is due, as far as there is time.

        One for whom it fails holds nobody else up, and is tried again as long as there is time.

        Raises:
            UnavailableError: the table does not say who is due.
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
        """The marks of tenants for whom there is more to do, who is due first first."""
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
        tell: Callable[[ForgetReport], None] = lambda _: None,
    ) -> None:
        """Go on with one tenant's course, as far as there is time, or begin one.

        What was deleted since the tenant was to be forgotten stays. ``report`` takes what is done.
        It is not finished if there is more to do; nor if another has asked for the same tenant
        meanwhile, or came to the end of the same course before. ``tell`` hears of it after each
        object.

        Raises:
            UnavailableError: the table or the bucket does not do it; the next call goes on.
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
            tell(report)
            if patience.has_time_left and self._now() < saved + SAVE_INTERVAL:
                continue
            saved = self._now()
            so_far = forget_requests.save_pass_update(mark, _sum_reports(course, report))
            if not (try_update(self._store, so_far) and patience.has_time_left):
                return
        self._finish_pass(mark, _sum_reports(course, report), report)

    def _finish_pass(self, mark: ForgetRequest, course: ForgetPass, report: ForgetReport) -> None:
        """Write down whether there is more to do, and when."""
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
    """A course with what this step has found."""
    broken = course.broken or bool(report.broken)
    return ForgetPass(course.began, report.cursor, report.again_at, broken)
