"""The archive as the API gets it: opened by the first request that reads it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from daicho.plan import Ledger
from daicho.runtime.frozen_dataclasses import dataclass

if TYPE_CHECKING:
    from daicho.archive.reader import ArchiveReaderBucket


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
