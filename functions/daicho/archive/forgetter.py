"""Forgetting a tenant: its rows out of the archive's objects, for good.

An object is rewritten in place, under its name and with its last number, so that its chain holds;
its metadata says how many rows are gone. Then every older version that holds any is removed. A
mark in the table keeps out what comes late (EXACTNESS rule 22), and says what is left to do: in
objects that are younger than 72 hours, and with what was deleted before but is archived only now
(`daicho.archive.forget_schedule`). Stopped anywhere it can be done again: what is done has nothing
left to do.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Protocol

from daicho.archive import forget_requests, object_format
from daicho.archive.forget_requests import SETTLE_PERIOD, ForgetRequest
from daicho.archive.object_format import CorruptObjectError
from daicho.archive.reader import ARCHIVE_PREFIX
from daicho.archive.row_format import ArchivedRow
from daicho.errors import UnavailableError
from daicho.runtime.clock import utc_now
from daicho.storage import keys
from daicho.storage.protocols import ObjectVersion, RewritesObjectVersions, UpdatesItems, try_update

REWRITE_GRACE = dt.timedelta(hours=72)
"""No attempt and no repeat looks at an object that is so old: the stream keeps a day."""
ATTEMPTS = 4


class ForgetterTable(UpdatesItems, Protocol):
    """What this needs of the table."""


class ForgetterBucket(RewritesObjectVersions, Protocol):
    """What this needs of the bucket."""


@dataclass
class ForgetReport:
    """What was forgotten, or, of a dry run, would be.

    ``rows`` of ``objects`` were taken out, ``versions`` that held any were removed. ``younger``
    objects still hold ``younger_rows``: to be run again at ``again_at``. ``broken`` objects could
    not be read, so that nobody knows what they hold. ``latest``: when the last of the rows was
    deleted. ``cursor``: the next run may go on behind it.
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
        """Note rows of the tenant, wherever they stand."""
        self.latest = max([*(row.deleted_at for row in rows), *filter(None, [self.latest])])

    @property
    def complete(self) -> bool:
        """Whether nothing of the tenant is left in the archive."""
        return self.finished and not self.dry_run and not self.younger and not self.broken

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        moments = {"again_at": self.again_at, "latest": self.latest}
        told = {name: each and keys.render_instant(each) for name, each in moments.items()}
        return {**vars(self), **told, "complete": self.complete}


class Forgetter:
    """Takes tenants out of the archive."""

    def __init__(
        self,
        store: ForgetterTable,
        bucket: ForgetterBucket,
        *,
        now: Callable[[], dt.datetime] = utc_now,
    ) -> None:
        self._store, self._bucket, self._now = store, bucket, now

    def forget(
        self,
        tenant: str,
        *,
        dry_run: bool = False,
        resume: str = "",
        again_at: dt.datetime | None = None,
        tell: Callable[[ForgetReport], None] = lambda _: None,
    ) -> ForgetReport:
        """Take a tenant's rows out of every object that is older than 72 hours.

        What is deleted after this is archived again: forget once the tenant's items are gone.
        ``resume`` and ``again_at``: the cursor of a report that was not finished, and when what
        it left may be rewritten. ``tell`` hears of the report after each object.

        Raises:
            UnavailableError: the table or the bucket does not do it; run it again.
        """
        report = ForgetReport(tenant, dry_run, again_at=again_at, cursor=resume)
        asked = self._now()
        if not dry_run:
            # Whatever becomes of this run, another looks at what comes up to then.
            try_update(
                self._store, forget_requests.request_update(tenant, asked, asked + SETTLE_PERIOD)
            )
        for _ in self.forget_through(report):
            tell(report)
        if not dry_run:
            report.again_at = max(asked + SETTLE_PERIOD, report.again_at or asked)
            until = max(asked, report.latest or asked)
            whole = not (resume or report.broken)
            clean = asked - REWRITE_GRACE if whole else None
            # Not if another has asked since: then that is what there is to do.
            try_update(
                self._store,
                forget_requests.settle_update(
                    ForgetRequest(tenant, asked, until, report.again_at, clean)
                ),
            )
        return report

    def forget_through(
        self,
        report: ForgetReport,
        *,
        until: dt.datetime | None = None,
        since: dt.datetime | None = None,
    ) -> Iterator[None]:
        """Go through the archive's objects behind the report's cursor, as they are asked for.

        ``until``: what was deleted later stays. ``since``: older objects are not looked at.

        Raises:
            UnavailableError: the bucket does not do it.
        """
        every = self._bucket.list_versions(ARCHIVE_PREFIX, behind=report.cursor)
        for name, group in groupby(every, key=lambda version: version.name):
            versions = [each for each in group if since is None or each.modified >= since]
            self._forget_object(name, versions, until, report)
            # A page's marks of deletion come behind all its versions.
            report.cursor = max(name, report.cursor)
            yield
        report.finished = True

    def _forget_object(
        self,
        name: str,
        versions: list[ObjectVersion],
        until: dt.datetime | None,
        report: ForgetReport,
    ) -> None:
        newest = next((each for each in versions if each.newest and not each.removal), None)
        if newest is not None:
            done = self._rewrite_newest(newest, until, report)
            if not done:
                return
            versions = [each for each in self._bucket.list_versions(name) if each.name == name]
        for each in versions:
            if not each.newest and not each.removal:
                self._remove_older(each, until, report)

    def _rewrite_newest(
        self, newest: ObjectVersion, until: dt.datetime | None, report: ForgetReport
    ) -> bool:
        """Rewrite what is read under a name; False if that is not to be yet."""
        name, tenant = newest.name, report.tenant
        for _ in range(ATTEMPTS):
            found = self._bucket.fetch(name)
            if found is None:
                return True
            try:
                contents = object_format.unpack_rows(found)
            except CorruptObjectError as error:
                report.broken[name] = str(error)
                return True
            gone = _select_tenant(tenant, contents.rows, until)
            if not gone:
                return True
            report.add_finding(gone)
            ripe = newest.modified + REWRITE_GRACE
            if ripe > self._now() and not contents.forgotten:
                report.younger += 1
                report.younger_rows += len(gone)
                report.again_at = max(ripe, report.again_at or ripe)
                return False
            packed = object_format.remove_rows(contents, gone)
            if report.dry_run or self._bucket.replace(
                name, packed.body, packed.metadata, found.etag
            ):
                report.objects += 1
                report.rows += len(gone)
                return True
        raise UnavailableError(f"others are at {name}, again and again")

    def _remove_older(
        self, version: ObjectVersion, until: dt.datetime | None, report: ForgetReport
    ) -> None:
        """Remove a version that holds the tenant's rows."""
        found = self._bucket.fetch(version.name, version.id)
        if found is None:
            return
        try:
            gone = _select_tenant(report.tenant, object_format.unpack_rows(found).rows, until)
        except CorruptObjectError as error:
            report.broken[f"{version.name}?versionId={version.id}"] = str(error)
            return
        if gone:
            report.versions += 1
            if not report.dry_run:
                self._bucket.remove_versions([version])


def _select_tenant(
    tenant: str, rows: tuple[ArchivedRow, ...], until: dt.datetime | None
) -> list[ArchivedRow]:
    mine = (row for row in rows if row.tenant == tenant)
    return [row for row in mine if until is None or row.deleted_at <= until]
