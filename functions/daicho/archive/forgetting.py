"""Forgetting a tenant: its rows out of the archive's objects, for good.

An object is rewritten in place, under its name and with its last number, so that its chain holds;
its metadata says how many rows are gone. Then every older version that holds any is removed. A
mark in the table keeps out what comes late (EXACTNESS rule 22). Stopped anywhere it can be done
again: what is done has nothing left to do.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Protocol

from daicho import keys
from daicho.archive import objects
from daicho.archive.marks import FORGOTTEN, forgotten_key
from daicho.archive.objects import CorruptObjectError
from daicho.archive.reading import PREFIX
from daicho.archive.rows import Row
from daicho.bucket import Fetched, Version
from daicho.clock import utc_now
from daicho.errors import ConditionFailedError, UnavailableError
from daicho.requests import Query
from daicho.stores import Pages, Updates

REWRITTEN_AFTER = dt.timedelta(hours=72)
"""No attempt and no repeat looks at an object that is so old: the stream keeps a day."""
ATTEMPTS = 4


class Store(Pages, Updates, Protocol):
    """What this needs of the table."""


class Objects(Protocol):
    """What this needs of the bucket."""

    def versions(self, prefix: str, *, behind: str = "") -> Iterator[Version]:
        """Every version of every object whose name begins with ``prefix``, in order of name."""

    def fetch(self, key: str, version: str | None = None) -> Fetched | None:
        """An object, or one version of it, with its metadata."""

    def replace(self, key: str, body: bytes, metadata: Mapping[str, str], etag: str) -> bool:
        """Put another object in the place of the very one that ``etag`` is of."""

    def remove_version(self, key: str, version: str) -> None:
        """Remove one version for good."""


@dataclass
class ForgetReport:
    """What was forgotten, or, of a dry run, would be.

    ``rows`` of ``objects`` were taken out, ``versions`` that held any were removed. ``younger``
    objects still hold ``younger_rows``: to be run again at ``again_at``. ``broken`` objects could
    not be read, so that nobody knows what they hold. ``cursor``: the next run may go on behind it.
    """

    tenant: str
    dry_run: bool = False
    objects: int = 0
    rows: int = 0
    versions: int = 0
    younger: int = 0
    younger_rows: int = 0
    again_at: dt.datetime | None = None
    broken: dict[str, str] = field(default_factory=dict)
    cursor: str = ""
    finished: bool = False

    @property
    def complete(self) -> bool:
        """Whether nothing of the tenant is left in the archive."""
        return self.finished and not self.dry_run and not self.younger and not self.broken

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        again = keys.instant(self.again_at) if self.again_at else None
        return {**vars(self), "again_at": again, "complete": self.complete}


class Forgetter:
    """Takes tenants out of the archive."""

    def __init__(
        self, store: Store, bucket: Objects, *, now: Callable[[], dt.datetime] = utc_now
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
        if not dry_run:
            self._mark(tenant)
        every = self._bucket.versions(PREFIX, behind=resume)
        for name, group in groupby(every, key=lambda version: version.name):
            self._object(name, [each for each in group if not each.removal], report)
            report.cursor = name
            tell(report)
        report.finished = True
        if not dry_run:
            self._note(report)
        return report

    def waiting(self) -> list[tuple[str, dt.datetime]]:
        """The tenants of whom younger objects were left, and when those may be rewritten."""
        found = []
        for page in self._store.pages(Query(FORGOTTEN, consistent=True)):
            for mark in page.items:
                if again := mark.get("again"):
                    (tenant,) = keys.parse(mark["SK"]["S"])
                    found.append((tenant, dt.datetime.fromisoformat(again["S"])))
        return found

    def _mark(self, tenant: str) -> None:
        until = {":until": {"S": keys.instant(self._now())}}
        try:
            self._store.update(
                forgotten_key(tenant),
                "SET #until = :until",
                condition="attribute_not_exists(#until) OR #until < :until",
                names={"#until": "until"},
                values=until,
            )
        except ConditionFailedError:
            return  # marked by another, or by this very request

    def _note(self, report: ForgetReport) -> None:
        """Write down whether there is more to do, and when."""
        change, values = "REMOVE again", {}
        if report.again_at is not None:
            change, values = "SET again = :at", {":at": {"S": keys.instant(report.again_at)}}
        self._store.update(forgotten_key(report.tenant), change, names={}, values=values)

    def _object(self, name: str, versions: list[Version], report: ForgetReport) -> None:
        newest = next((each for each in versions if each.newest), None)
        if newest is not None:
            done = self._newest(newest, report)
            if not done:
                return
            versions = [each for each in self._bucket.versions(name) if each.name == name]
        for each in versions:
            if not each.newest and not each.removal:
                self._older(each, report)

    def _newest(self, newest: Version, report: ForgetReport) -> bool:
        """Rewrite what is read under a name; False if that is not to be yet."""
        name, tenant = newest.name, report.tenant
        for _ in range(ATTEMPTS):
            found = self._bucket.fetch(name)
            if found is None:
                return True
            try:
                contents = objects.unpack(found)
            except CorruptObjectError as error:
                report.broken[name] = str(error)
                return True
            gone = _of(tenant, contents.rows)
            if not gone:
                return True
            ripe = newest.modified + REWRITTEN_AFTER
            if ripe > self._now() and not contents.forgotten:
                report.younger += 1
                report.younger_rows += len(gone)
                report.again_at = max(ripe, report.again_at or ripe)
                return False
            packed = objects.without(contents, gone)
            if report.dry_run or self._bucket.replace(
                name, packed.body, packed.metadata, found.etag
            ):
                report.objects += 1
                report.rows += len(gone)
                return True
        raise UnavailableError(f"others are at {name}, again and again")

    def _older(self, version: Version, report: ForgetReport) -> None:
        """Remove a version that holds the tenant's rows."""
        found = self._bucket.fetch(version.name, version.id)
        if found is None:
            return
        try:
            gone = _of(report.tenant, objects.unpack(found).rows)
        except CorruptObjectError as error:
            report.broken[f"{version.name}?versionId={version.id}"] = str(error)
            return
        if gone:
            report.versions += 1
            if not report.dry_run:
                self._bucket.remove_version(version.name, version.id)


def _of(tenant: str, rows: tuple[Row, ...]) -> list[Row]:
    return [row for row in rows if row.tenant == tenant]
