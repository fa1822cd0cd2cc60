"""The archive as the API gets it: opened by the first request that reads it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING

from daicho.plan import Ledger
from daicho.runtime.frozen_dataclasses import dataclass

if TYPE_CHECKING:
    from daicho.archive.reader import ArchiveReader, ArchiveReaderBucket

READ_S = 10.0
"""Seconds for which the read of an object is retried. A request has 29 seconds."""


@dataclass(frozen=True)
class ArchiveSource:
    """Opens the bucket of the archive; ``ledger`` reads the archived items."""

    ledger: Ledger
    open_bucket: Callable[[], ArchiveReaderBucket]

    @classmethod
    def find(
        cls, ledger: Ledger, open_bucket: Callable[[str], ArchiveReaderBucket], name: str
    ) -> ArchiveSource | None:
        """The archive in the bucket ``name``; None without a name."""
        return cls(ledger, partial(open_bucket, name)) if name else None

    @cached_property
    def reader(self) -> ArchiveReader:
        """Reads the archive."""
        from daicho.archive.reader import ArchiveReader  # noqa: PLC0415  # most requests need none

        return ArchiveReader(self.open_bucket(), seconds=READ_S)
