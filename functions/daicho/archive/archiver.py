"""The archiver: writes every expired item to the bucket, exactly once.

After a batch is archived, its heartbeats are announced (`daicho.archive.shard_progress`).
"""

from __future__ import annotations

import datetime as dt
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from daicho.archive import chain as chains
from daicho.archive.chain import Chain
from daicho.archive.chain_writer import ArchiverBucket, BrokenChainError, ChainWriter
from daicho.archive.shard_progress import announce_update
from daicho.plan import Ledger
from daicho.runtime.clock import utc_now
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget, retry_all
from daicho.storage.protocols import try_update
from daicho.storage.table import Table
from daicho.stream.records import Batch, StreamRecord

_log = logging.getLogger(__name__)
RecordRun = tuple[Chain, tuple[StreamRecord, ...]]
"""The records of one batch that belong to one chain, with the chain."""


@dataclass(frozen=True)
class Archiver:
    """Appends batches to their chains.

    ``set_aside``: keeps records whose chain is broken, so that what follows them does not wait, as
    events must not; without it the shard waits until the records are discarded.
    """

    store: Table
    objects: ArchiverBucket
    ledger: Ledger
    now: Callable[[], dt.datetime] = utc_now
    set_aside: Callable[[Sequence[StreamRecord], str], None] | None = None

    def archive(self, batch: Batch, retry_budget: RetryBudget) -> str | None:
        """Archive expired items. Returns the lowest number that is not known to be done, or None.

        Raises:
            BrokenChainError: the bucket holds something else under a link's name, and nothing is
                set aside.
        """
        left = retry_all(split_into_runs(batch.records, self.ledger), self._append, retry_budget)
        undone = [records[0] for _, records in left]
        heartbeats = tuple(record for record in batch.records if record.heartbeat is not None)
        if heartbeats and not undone:
            # Only now: a heartbeat states that the items which expired before it are archived.
            undone = [run[0] for run in retry_all([heartbeats], self._announce, retry_budget)]
        return min(undone, key=lambda record: record.seq).number if undone else None

    def _announce(self, heartbeats: Sequence[StreamRecord]) -> None:
        try_update(self.store, announce_update(heartbeats[0].shard, heartbeats, self.now()))

    def _append(self, run: RecordRun) -> None:
        try:
            ChainWriter(self.store, self.objects, self.ledger, self.now).append(*run)
        except BrokenChainError as error:
            if self.set_aside is None:
                raise
            _log.error("%s", error)
            self.set_aside(run[1], "BrokenChain")


def split_into_runs(records: Iterable[StreamRecord], ledger: Ledger) -> list[RecordRun]:
    """The records that belong in the archive, by chain, each chain in order."""
    by_chain: defaultdict[Chain, list[StreamRecord]] = defaultdict(list)
    for record in records:
        if chains.is_archived(record, ledger):
            by_chain[Chain.from_key(record)].append(record)
    return [(chain, tuple(by_chain[chain])) for chain in sorted(by_chain)]
