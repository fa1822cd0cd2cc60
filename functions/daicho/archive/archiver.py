"""The archiver: every expired item into the bucket, exactly once."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from daicho.archive import chain as chains
from daicho.archive.chain import Chain
from daicho.archive.chain_writer import Appender, BrokenChainError, Objects, Store
from daicho.plan import Ledger
from daicho.runtime.clock import utc_now
from daicho.runtime.retry import Patience, carry_out
from daicho.stream.records import Batch, StreamRecord

__all__ = ["Archiver", "BrokenChainError", "Stretch", "stretches"]


@dataclass(frozen=True)
class Stretch:
    """The records of one batch that belong to one chain."""

    chain: Chain
    records: tuple[StreamRecord, ...]


class Archiver:
    """Appends batches to their chains."""

    def __init__(
        self,
        store: Store,
        objects: Objects,
        ledger: Ledger,
        *,
        now: Callable[[], dt.datetime] = utc_now,
    ) -> None:
        self._appender = Appender(store, objects, ledger, now)
        self._ledger = ledger

    def archive(self, batch: Batch, patience: Patience) -> str | None:
        """Archive what expired; gives the number of the lowest record not known to be, or None.

        Raises:
            BrokenChainError: the bucket holds something else under a link's name.
        """
        left = carry_out(stretches(batch.records, self._ledger), self._append, patience)
        undone = [each.records[0] for each in left]
        return min(undone, key=lambda record: record.seq).number if undone else None

    def _append(self, stretch: Stretch) -> None:
        self._appender.append(stretch.chain, stretch.records)


def stretches(records: Iterable[StreamRecord], ledger: Ledger) -> list[Stretch]:
    """What of these records is archived, by chain, each in order."""
    by_chain: defaultdict[Chain, list[StreamRecord]] = defaultdict(list)
    for record in records:
        if chains.is_archived(record, ledger):
            by_chain[Chain.of(record)].append(record)
    return [Stretch(chain, tuple(by_chain[chain])) for chain in sorted(by_chain)]
