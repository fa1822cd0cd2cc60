"""Removal of a tenant's rows from the objects of the archive, for good.

An object is rewritten in place, under its name and with its last number, so its chain stays
unbroken. Its metadata counts the removed rows. Then every older version that holds rows of the
tenant is removed. A mark in the table keeps late rows out of the archive (EXACTNESS rule 22). It
also records the remaining work: objects that are younger than 72 hours, and items that were
deleted before but are archived only now (`Forgetter.run`). A run may stop
anywhere and be repeated: a repeat finds nothing to do in finished objects.

A *pass* goes through the archive in as many steps as necessary. It reads the objects that are
younger than the ones that an earlier run found clean: objects that could not be rewritten then,
and objects that were archived since. The last pass begins when every earlier deletion has
reached the archive. The tenant's mark holds the progress of a pass. So the next step continues
where a step ended, whether it ran out of time, failed, or lost its process.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Any, Protocol

from daicho.archive import forget_requests, object_format
from daicho.archive.forget_requests import FORGOTTEN, SETTLE_PERIOD, ForgetPass, ForgetRequest
from daicho.archive.object_format import CorruptObjectError
from daicho.archive.reader import ARCHIVE_PREFIX
from daicho.archive.row_format import ArchivedRow
from daicho.errors import ConditionFailedError, UnavailableError
from daicho.layout.retention import STREAM_SAFETY_WINDOW
from daicho.runtime.clock import utc_now
from daicho.runtime.retry import RetryBudget, retry_all
from daicho.storage import keys
from daicho.storage.protocols import FetchedObject, ObjectVersion, apply_update, try_update
from daicho.storage.requests import Query
from daicho.storage.table import Table

REWRITE_GRACE = STREAM_SAFETY_WINDOW
"""No attempt and no repeat reads an object of this age: the stream keeps records for a day."""
ATTEMPTS = 4
UNREADABLE_RETRY_INTERVAL = dt.timedelta(hours=24)
"""The interval at which unreadable objects are tried again."""
SAVE_INTERVAL = dt.timedelta(seconds=10)
"""The longest stretch of work that is repeated after an interruption."""
MAX_OVERDUE = dt.timedelta(hours=24)
"""The time by which rows should have left the archive after they were due."""
MAX_REPORTED = 500
"""The most objects of a tenant that an answer names."""


class ForgetterBucket(Protocol):
    """The bucket operations that the forgetter needs: its grants follow from them."""

    def list_versions(self, prefix: str, *, behind: str = "") -> Iterator[ObjectVersion]:
        """Every version of every object whose name begins with ``prefix``, in order of name."""

    def fetch(self, key: str, version: str | None = None) -> FetchedObject | None:
        """An object, or one version of it, with its metadata."""

    def replace(
        self, key: str, body: bytes, metadata: Mapping[str, str], etag: str, kind: str = ...
    ) -> bool:
        """Replace the object that has this ``etag``."""

    def remove_versions(self, versions: Sequence[ObjectVersion]) -> None:
        """Remove versions permanently."""


@dataclass
class ForgetReport:
    """The result of a run. After a dry run: what a run would do.

    ``rows`` were removed from ``objects``, and ``versions`` that held such rows were removed.
    ``younger`` objects still hold ``younger_rows``; another run is due at ``again_at``. ``broken``
    objects could not be read, so their contents are unknown. ``latest``: when the last of the rows
    was deleted. ``cursor``: the next run may continue behind it.
    """

    tenant: str
    dry_run: bool = False
    objects: int = 0
    rows: int = 0
    versions: int = 0
    younger: int = 0
    younger_rows: int = 0
    again_at: dt.datetime | None = None
    latest: dt.datetime | None = None
    broken: dict[str, str] = field(default_factory=dict)
    cursor: str = ""
    finished: bool = False

    def add_finding(self, rows: Iterable[ArchivedRow]) -> None:
        """Note rows of the tenant, of any object."""
        self.latest = max([*(row.deleted_at for row in rows), *filter(None, [self.latest])])

    @property
    def complete(self) -> bool:
        """Whether the archive holds nothing of the tenant any more."""
        return self.finished and not self.dry_run and not self.younger and not self.broken

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        instants = {"again_at": self.again_at, "latest": self.latest}
        texts = {name: time and keys.render_instant(time) for name, time in instants.items()}
        return {**vars(self), **texts, "complete": self.complete}


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
        """Metrics of what was removed."""
        return {"ArchiveRowsForgotten": sum(report.rows for report in self.reports)}

    @property
    def problems(self) -> dict[str, float]:
        """Metrics that need somebody: tenants that failed, and whether one is long overdue."""
        failed = {*self.failed, *(report.tenant for report in self.reports if report.broken)}
        is_overdue = self.overdue >= MAX_OVERDUE.total_seconds()
        return {"ForgettingsFailed": len(failed), "ForgettingsOverdue": int(is_overdue)}

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON values, with no more broken objects than fit into an answer."""
        reports = [report.to_json() for report in self.reports]
        for document in reports:
            document["broken"] = dict(islice(document["broken"].items(), MAX_REPORTED))
        return {**vars(self), "reports": reports}


@dataclass(frozen=True)
class _Removal:
    """The removal of a tenant's rows, whose results ``report`` receives.

    ``until``: items that were deleted later stay. ``since``: older objects are not read.
    """

    bucket: ForgetterBucket
    now: Callable[[], dt.datetime]
    report: ForgetReport
    until: dt.datetime | None = None
    since: dt.datetime | None = None

    def go_through(self) -> Iterator[None]:
        """Go through the archive's objects behind the report's cursor, one per iteration.

        Raises:
            UnavailableError: the bucket is unavailable.
        """
        report, since = self.report, self.since
        all_versions = self.bucket.list_versions(ARCHIVE_PREFIX, behind=report.cursor)
        for name, group in groupby(all_versions, key=lambda version: version.name):
            versions = [version for version in group if since is None or version.modified >= since]
            self._forget_object(name, versions)
            # A page lists its deletion markers after all its versions.
            report.cursor = max(name, report.cursor)
            yield
        report.finished = True

    def _forget_object(self, name: str, versions: list[ObjectVersion]) -> None:
        newest = next(
            (candidate for candidate in versions if candidate.newest and not candidate.removal),
            None,
        )
        if newest is not None:
            if not self._rewrite_newest(newest):
                return
            versions = [
                candidate for candidate in self.bucket.list_versions(name) if candidate.name == name
            ]
        for version in versions:
            if not version.newest and not version.removal:
                self._remove_older(version)

    def _rewrite_newest(self, newest: ObjectVersion) -> bool:
        """Rewrite the current object of a name. False if it is too young to be rewritten."""
        name, report = newest.name, self.report
        for _ in range(ATTEMPTS):
            stored_object = self.bucket.fetch(name)
            if stored_object is None:
                return True
            try:
                contents = object_format.unpack_rows(stored_object)
            except CorruptObjectError as error:
                report.broken[name] = str(error)
                return True
            removed = self._select_rows(contents.rows)
            if not removed:
                return True
            report.add_finding(removed)
            rewritable_at = newest.modified + REWRITE_GRACE
            if rewritable_at > self.now() and not contents.forgotten:
                report.younger += 1
                report.younger_rows += len(removed)
                report.again_at = max(rewritable_at, report.again_at or rewritable_at)
                return False
            packed = object_format.remove_rows(contents, removed)
            if report.dry_run or self.bucket.replace(
                name, packed.body, packed.metadata, stored_object.etag
            ):
                report.objects += 1
                report.rows += len(removed)
                return True
        raise UnavailableError(f"{name} is changed by others again and again")

    def _remove_older(self, version: ObjectVersion) -> None:
        """Remove a version that holds the tenant's rows."""
        stored_object = self.bucket.fetch(version.name, version.id)
        if stored_object is None:
            return
        try:
            rows = self._select_rows(object_format.unpack_rows(stored_object).rows)
        except CorruptObjectError as error:
            self.report.broken[f"{version.name}?versionId={version.id}"] = str(error)
            return
        if rows:
            self.report.versions += 1
            if not self.report.dry_run:
                self.bucket.remove_versions([version])

    def _select_rows(self, rows: Iterable[ArchivedRow]) -> list[ArchivedRow]:
        tenant, until = self.report.tenant, self.until
        return [
            row
            for row in rows
            if row.tenant == tenant and (until is None or row.deleted_at <= until)
        ]


@dataclass(frozen=True)
class Forgetter:
    """Removes tenants from the archive: one at once, or all whose work is due."""

    store: Table
    bucket: ForgetterBucket
    now: Callable[[], dt.datetime] = utc_now

    def forget(
        self,
        tenant: str,
        *,
        dry_run: bool = False,
        resume: str = "",
        again_at: dt.datetime | None = None,
        on_progress: Callable[[ForgetReport], None] = lambda _: None,
    ) -> ForgetReport:
        """Remove a tenant's rows from every object that is older than 72 hours.

        Items that are deleted after this are archived again, so call it once the tenant's items
        are gone. ``resume`` and ``again_at``: the cursor of an unfinished report, and when the
        objects that it left may be rewritten. ``on_progress`` receives the report after each
        object.

        Raises:
            UnavailableError: the table or the bucket is unavailable; run it again.
        """
        report = ForgetReport(tenant, dry_run, again_at=again_at, cursor=resume)
        request_time = self.now()
        if not dry_run:
            # Even if this run fails, a later one handles what is archived up to that time.
            try_update(
                self.store,
                forget_requests.request_update(tenant, request_time, request_time + SETTLE_PERIOD),
            )
        for _ in _Removal(self.bucket, self.now, report).go_through():
            on_progress(report)
        if not dry_run:
            report.again_at = max(request_time + SETTLE_PERIOD, report.again_at or request_time)
            until = max(request_time, report.latest or request_time)
            is_complete = not (resume or report.broken)
            clean = request_time - REWRITE_GRACE if is_complete else None
            # Not if there is a newer request: then that one decides what is left to do.
            try_update(
                self.store,
                forget_requests.settle_update(
                    ForgetRequest(tenant, request_time, until, report.again_at, clean)
                ),
            )
        return report

    def run(self, retry_budget: RetryBudget) -> ForgetRunReport:
        """Continue with every tenant that is due, as far as there is time.

        A failure of one tenant does not delay the others, and is retried while there is time.

        Raises:
            UnavailableError: the due tenants cannot be read from the table.
        """
        due = [request for request in self.list_waiting() if request.is_due(self.now())]
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
            overdue = self.now() - waiting[0].again
            run_report.overdue = max(0.0, overdue.total_seconds())
        return run_report

    def list_waiting(self) -> list[ForgetRequest]:
        """The requests that have work left, in order of their due times."""
        requests = (
            ForgetRequest.from_item(item)
            for page in self.store.query_pages(Query(FORGOTTEN, consistent=True))
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
    ) -> None:
        """Continue one tenant's pass, or begin one, as far as there is time.

        Rows that were deleted after the request stay. ``report`` receives the results. It is not
        finished if work is left, if there is a newer request for the tenant, or if another process
        has finished the same pass before.

        Raises:
            UnavailableError: the table or the bucket is unavailable; the next call continues.
        """
        try:
            mark = apply_update(
                self.store, forget_requests.start_pass_update(request, self.now()), "ALL_NEW"
            )
        except ConditionFailedError:
            return
        request = ForgetRequest.from_item(mark or {})
        current = request.current_pass or ForgetPass(self.now())
        report.cursor, report.again_at = current.cursor, current.ripe
        saved_at = self.now()
        removal = _Removal(self.bucket, self.now, report, request.until, request.clean)
        for _ in removal.go_through():
            if retry_budget.has_time_left and self.now() < saved_at + SAVE_INTERVAL:
                continue
            saved_at = self.now()
            progress = forget_requests.save_pass_update(request, _add_report(current, report))
            if not (try_update(self.store, progress) and retry_budget.has_time_left):
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
            *([self.now() + UNREADABLE_RETRY_INTERVAL] if current.broken else ()),
        ]
        report.again_at = max(due_times, default=None)
        clean = current.began - REWRITE_GRACE
        report.finished = try_update(
            self.store,
            forget_requests.finish_pass_update(request, current, report.again_at, clean),
        )


def _add_report(current: ForgetPass, report: ForgetReport) -> ForgetPass:
    """The pass with the results of this step."""
    broken = current.broken or bool(report.broken)
    return ForgetPass(current.began, report.cursor, report.again_at, broken)
