"""The objects of the archive: rows packed, with what a verification needs beside them. Pure.

Gzip NDJSON. An object's metadata says what it holds, so that a row that is edited, added or taken
away by hand shows: ``last`` (a link's last number; the chain goes on behind it), ``rows`` (how
many there are), ``sha256`` (of the lines), ``forgotten`` (rows that were taken out for a tenant
that is forgotten) and ``redriven`` (rows that came by a redrive).
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from daicho.archive.row_format import ArchivedRow, RowError
from daicho.errors import DaichoError
from daicho.storage.protocols import FetchedObject

LAST, ROWS, DIGEST, FORGOTTEN, REDRIVEN = "last", "rows", "sha256", "forgotten", "redriven"


class CorruptObjectError(DaichoError):
    """An object that cannot be read, or holds something else than its metadata says."""


@dataclass(frozen=True)
class PackedObject:
    """What is stored of an object."""

    body: bytes
    metadata: Mapping[str, str]


@dataclass(frozen=True)
class ObjectContents:
    """What an object holds. ``forgotten`` and ``redriven`` count rows; ``last`` "" of a side."""

    rows: tuple[ArchivedRow, ...]
    last: str
    forgotten: int = 0
    redriven: int = 0

    @property
    def counted(self) -> int:
        """How many rows were archived with it, whatever was forgotten since."""
        return len(self.rows) + self.forgotten


def pack_rows(
    rows: Iterable[ArchivedRow], last: str, *, forgotten: int = 0, redriven: int = 0
) -> PackedObject:
    """Make an object: the same rows give the same bytes."""
    lines = [row.line for row in rows]
    plain = b"".join(lines)
    metadata = {LAST: last, ROWS: str(len(lines)), DIGEST: hashlib.sha256(plain).hexdigest()}
    more = {FORGOTTEN: forgotten, REDRIVEN: redriven}
    metadata |= {name: str(count) for name, count in more.items() if count}
    return PackedObject(gzip.compress(plain, mtime=0), metadata)


def unpack_rows(found: FetchedObject) -> ObjectContents:
    """Read an object, and check that it holds what its metadata says.

    Raises:
        CorruptObjectError: says what is wrong.
    """
    told = found.metadata
    missing = [name for name in (LAST, ROWS, DIGEST) if name not in told]
    if missing:
        raise CorruptObjectError(f"its metadata lacks {', '.join(missing)}")
    try:
        plain = gzip.decompress(found.body)
    except (OSError, EOFError, zlib.error) as error:
        raise CorruptObjectError(f"it cannot be unpacked: {error}") from error
    if hashlib.sha256(plain).hexdigest() != told[DIGEST]:
        raise CorruptObjectError("its rows are not those that were written: the checksum differs")
    try:
        rows = tuple(ArchivedRow.parse(line) for line in plain.splitlines())
        counts = [int(told.get(name, 0)) for name in (ROWS, FORGOTTEN, REDRIVEN)]
    except (RowError, ValueError) as error:
        raise CorruptObjectError(str(error)) from error
    if counts[0] != len(rows):
        raise CorruptObjectError(f"it holds {len(rows)} rows, and its metadata says {counts[0]}")
    return ObjectContents(rows, told[LAST], counts[1], counts[2])


def remove_rows(contents: ObjectContents, gone: Sequence[ArchivedRow]) -> PackedObject:
    """The same object without some of its rows: same name, same last number."""
    taken = {row.seq for row in gone}
    left = [row for row in contents.rows if row.seq not in taken]
    forgotten = contents.forgotten + len(contents.rows) - len(left)
    return pack_rows(left, contents.last, forgotten=forgotten, redriven=contents.redriven)
