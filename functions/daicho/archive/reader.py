"""Reading the archive: its objects by entity and day, their rows by entity, tenant, key and time.

Only the partitions that can hold a selected row are listed. An object that cannot be read is
reported by name and skipped.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Protocol

from daicho.archive import object_format
from daicho.archive.chain import Link
from daicho.archive.object_format import CorruptObjectError, ObjectContents
from daicho.archive.row_format import ArchivedRow
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget, retry
from daicho.storage import keys
from daicho.storage.attributes import ItemKey
from daicho.storage.protocols import FetchedObject, ListedObject

ARCHIVE_PREFIX = "entity="
END = chr(ord("/") + 1)
"""Appended to a folder's name: sorts behind every object in the folder, whatever its name."""


class ArchiveReaderBucket(Protocol):
    """The bucket operations that the reader needs: grants follow from them."""

    def list_objects(
        self, prefix: str, *, behind: str = "", most: int = 1000
    ) -> Iterator[ListedObject]:
        """The objects whose names begin with ``prefix`` and sort behind ``behind``, in order."""

    def fetch(self, key: str) -> FetchedObject | None:
        """An object with its metadata; None if there is none of that name."""


@dataclass(frozen=True)
class DayRange:
    """Days of deletion (UTC), from the first to the last."""

    first: dt.date = dt.date.min
    last: dt.date = dt.date.max

    @classmethod
    def for_rows(cls, day: dt.date) -> DayRange:
        """A single day."""
        return cls(day, day)

    def __contains__(self, day: dt.date) -> bool:
        return self.first <= day <= self.last


@dataclass(frozen=True)
class Selection:
    """A selection of rows. A row must meet every condition that is set.

    ``entities``: the entities; empty for all. ``key``: the key of the item. ``since`` (inclusive)
    and ``until`` (exclusive): the range of the deletion time, both with a time zone.
    """

    entities: tuple[str, ...] = ()
    tenant: str | None = None
    key: ItemKey | None = None
    since: dt.datetime | None = None
    until: dt.datetime | None = None

    @property
    def days(self) -> DayRange:
        """The days that can hold a selected row."""
        first = self.since.astimezone(dt.UTC).date() if self.since else dt.date.min
        last = dt.date.max
        if self.until:
            last = (self.until.astimezone(dt.UTC) - dt.datetime.resolution).date()
        return DayRange(first, last)

    @property
    def folders(self) -> tuple[str, ...]:
        """The entities that can hold a selected row. A key contains the name of its entity."""
        if self.key is None:
            return self.entities
        named = keys.parse(self.key.pk)[1:2]
        return tuple(entity for entity in named if not self.entities or entity in self.entities)

    def __contains__(self, row: ArchivedRow) -> bool:
        return (
            (not self.entities or row.entity in self.entities)
            and self.tenant in (None, row.tenant)
            and self.key in (None, row.key)
            and (self.since is None or row.deleted_at >= self.since)
            and (self.until is None or row.deleted_at < self.until)
        )


@dataclass(frozen=True)
class StoredObjectInfo:
    """An object of the archive. ``link`` is None if no archiver would give that name."""

    name: str
    size: int
    entity: str
    link: Link | None


BrokenObject = Callable[[str, CorruptObjectError], None]
"""Receives the name of an object that cannot be read, and the error."""


@dataclass(frozen=True)
class ArchiveReader:
    """The archive in a bucket. ``seconds``: how long a read of an object is retried."""

    bucket: ArchiveReaderBucket
    seconds: float = 30.0

    def list_entities(self) -> Iterator[str]:
        """The entities that have objects, in order."""
        behind = ""
        while entry := next(self.bucket.list_objects(ARCHIVE_PREFIX, behind=behind, most=1), None):
            head = entry.name.partition("/")[0]
            yield head.removeprefix(ARCHIVE_PREFIX)
            behind = f"{head}{END}"

    def list_objects(
        self, entity: str, days: DayRange, *, behind: str = ""
    ) -> Iterator[StoredObjectInfo]:
        """The objects of an entity and a range of deletion days, in order, with foreign ones.

        ``behind``: only those that sort behind this name.
        """
        prefix = f"{ARCHIVE_PREFIX}{entity}/"
        begin = "" if days.first == dt.date.min else f"{prefix}dt={days.first.isoformat()}"
        end = f"{prefix}dt={days.last.isoformat()}{END}" if days.last < dt.date.max else None
        entries = self.bucket.list_objects(prefix, behind=max(begin, behind))
        for entry in takewhile(lambda entry: end is None or entry.name < end, entries):
            yield StoredObjectInfo(entry.name, entry.size, entity, Link.parse(entry.name))

    def read(self, name: str) -> ObjectContents:
        """The contents of an object, checked against its metadata.

        Raises:
            CorruptObjectError: it cannot be read, or it is not what was written.
            UnavailableError: the bucket does not answer.
        """
        stored_object = retry(
            lambda: self.bucket.fetch(name), RetryBudget.for_seconds(self.seconds)
        )
        if stored_object is None:
            raise CorruptObjectError("it has been removed")
        return object_format.unpack_rows(stored_object)

    def list_selected(
        self, selection: Selection, *, behind: str = ""
    ) -> Iterator[StoredObjectInfo]:
        """The objects that can hold selected rows and sort behind a name, in order of name."""
        for entity in sorted(selection.folders or self.list_entities()):
            for info in self.list_objects(entity, selection.days, behind=behind):
                if info.link is not None and info.name > behind:
                    yield info

    def read_objects(
        self, selection: Selection, broken: BrokenObject, *, behind: str = ""
    ) -> Iterator[tuple[str, list[ArchivedRow]]]:
        """The selected rows of each object behind a name, with the name of the object, in order."""
        for info in self.list_selected(selection, behind=behind):
            try:
                contents = self.read(info.name)
            except CorruptObjectError as error:
                broken(info.name, error)
                continue
            yield info.name, [row for row in contents.rows if row in selection]

    def read_rows(self, selection: Selection, broken: BrokenObject) -> Iterator[ArchivedRow]:
        """The selected rows, one object after the other."""
        for _, rows in self.read_objects(selection, broken):
            yield from rows
