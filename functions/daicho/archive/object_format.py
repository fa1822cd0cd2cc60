"""The objects of the archive: packed rows, and metadata for the verification. Pure.

Gzip NDJSON. An object's metadata describes its contents, so that a row that is edited, added or
removed by hand is detectable:

- ``last``: a link's last number; the chain continues behind it.
- ``rows``: the number of rows.
- ``sha256``: the digest of the lines.
- ``forgotten``: how many rows were removed for a tenant that is forgotten.
- ``redriven``: how many rows a redrive appended.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterable, Mapping, Sequence

from daicho.archive.row_format import ArchivedRow, RowError
from daicho.errors import DaichoError
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.protocols import FetchedObject

LAST, ROWS, DIGEST, FORGOTTEN, REDRIVEN = "last", "rows", "sha256", "forgotten", "redriven"


class CorruptObjectError(DaichoError):
    """An object that cannot be read, or does not match its metadata."""


@dataclass(frozen=True)
class PackedObject:
    """The stored form of an object."""

    body: bytes
    metadata: Mapping[str, str]


@dataclass(frozen=True)
class ObjectContents:
    """The contents of an object. ``forgotten`` and ``redriven`` count rows."""

    rows: tuple[ArchivedRow, ...]
    last: str
    forgotten: int = 0
    redriven: int = 0

    @property
    def counted(self) -> int:
        """The number of rows that were archived with it, including forgotten ones."""
        return len(self.rows) + self.forgotten


def pack_rows(
    rows: Iterable[ArchivedRow], last: str, *, forgotten: int = 0, redriven: int = 0
) -> PackedObject:
    """Make an object. The same rows always give the same bytes."""
    lines = [row.line for row in rows]
    plain = b"".join(lines)
    metadata = {LAST: last, ROWS: str(len(lines)), DIGEST: hashlib.sha256(plain).hexdigest()}
    more = {FORGOTTEN: forgotten, REDRIVEN: redriven}
    metadata |= {name: str(count) for name, count in more.items() if count}
    return PackedObject(gzip.compress(plain, mtime=0), metadata)


def unpack_rows(stored_object: FetchedObject) -> ObjectContents:
    """Read an object, and check that it matches its metadata.

    Raises:
        CorruptObjectError: the object is corrupt. The message gives the reason.
    """
    metadata = stored_object.metadata
    missing = [name for name in (LAST, ROWS, DIGEST) if name not in metadata]
    if missing:
        raise CorruptObjectError(f"its metadata lacks {', '.join(missing)}")
    try:
        plain = gzip.decompress(stored_object.body)
    except (OSError, EOFError, zlib.error) as error:
        raise CorruptObjectError(f"it cannot be unpacked: {error}") from error
    if hashlib.sha256(plain).hexdigest() != metadata[DIGEST]:
        raise CorruptObjectError("its rows are not those that were written: the checksum differs")
    try:
        rows = tuple(ArchivedRow.parse(line) for line in plain.splitlines())
        counts = [int(metadata.get(name, 0)) for name in (ROWS, FORGOTTEN, REDRIVEN)]
    except (RowError, ValueError) as error:
        raise CorruptObjectError(str(error)) from error
    if counts[0] != len(rows):
        raise CorruptObjectError(f"it holds {len(rows)} rows, and its metadata says {counts[0]}")
    return ObjectContents(rows, metadata[LAST], counts[1], counts[2])


def remove_rows(contents: ObjectContents, removed: Sequence[ArchivedRow]) -> PackedObject:
    """The same object without some of its rows. Its name and last number are unchanged."""
    removed_numbers = {row.seq for row in removed}
    rows = [row for row in contents.rows if row.seq not in removed_numbers]
    forgotten = contents.forgotten + len(contents.rows) - len(rows)
    return pack_rows(rows, contents.last, forgotten=forgotten, redriven=contents.redriven)
