"""Pages of archived rows. A page reads a bounded number of objects, so it may have no row."""

from __future__ import annotations

from daicho.archive.object_format import CorruptObjectError
from daicho.archive.reader import ARCHIVE_PREFIX, ArchiveReader, Selection
from daicho.archive.row_format import ArchivedRow
from daicho.runtime.frozen_dataclasses import dataclass

MAX_OBJECTS = 16
"""The most objects that a page reads: about half a second of requests."""
MAX_STORED_BYTES = 8_000_000
"""A page begins no further object once it has read that many compressed bytes."""


@dataclass(frozen=True)
class ArchivePosition:
    """Where the next page begins: behind the object ``name``, after some of the selected rows."""

    name: str = ARCHIVE_PREFIX
    rows: int = 0


@dataclass(frozen=True)
class ArchivePage:
    """Some rows, in the order of the archive.

    ``next``: the position of the next page, None at the end. ``unreadable``: the names of the
    objects that could not be read and were skipped.
    """

    rows: tuple[ArchivedRow, ...]
    next: ArchivePosition | None
    unreadable: tuple[str, ...] = ()


def read_archive_page(
    archive: ArchiveReader, selection: Selection, position: ArchivePosition, limit: int
) -> ArchivePage:
    """A page of at most ``limit`` selected rows.

    An object that is rewritten between two pages, because a tenant was forgotten, may have fewer
    rows than before. Then the next page may leave out a row of it.

    Raises:
        UnavailableError: the bucket does not answer.
    """
    rows: list[ArchivedRow] = []
    unreadable: list[str] = []
    objects = stored_bytes = 0
    for info in archive.list_selected(selection, behind=position.name):
        is_full = objects == MAX_OBJECTS or stored_bytes > MAX_STORED_BYTES
        if is_full or len(rows) == limit:
            return ArchivePage(tuple(rows), position, tuple(unreadable))
        objects, stored_bytes = objects + 1, stored_bytes + info.size
        try:
            contents = archive.read(info.name)
        except CorruptObjectError:
            unreadable.append(info.name)
        else:
            selected = [row for row in contents.rows if row in selection]
            end = position.rows + limit - len(rows)
            rows += selected[position.rows : end]
            if end < len(selected):
                position = ArchivePosition(position.name, end)
                return ArchivePage(tuple(rows), position, tuple(unreadable))
        position = ArchivePosition(info.name)
    return ArchivePage(tuple(rows), None, tuple(unreadable))
