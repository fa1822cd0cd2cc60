"""The projector: keeps derived items and aggregates consistent with their base items.

It computes all records, sets aside those that cannot be computed, announces, folds and writes.
Each write carries the number of the record that caused it and never goes backwards. So any record
may come again, late, out of order, or from an attempt that was given up and still writes.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Protocol

from daicho.plan import Ledger
from daicho.runtime.clock import utc_now
from daicho.runtime.retry import RetryBudget, make_mapper, retry_all
from daicho.storage.protocols import GetsItems, PutsItems, QueriesItems, UpdatesItems
from daicho.stream.batch_fold import ProjectorWrite, SlotWrite, fold_batch, get_last_sequence
from daicho.stream.batch_writer import BatchWriter
from daicho.stream.changes import RecordChanges, compute_batch
from daicho.stream.quarantine import NotAnnouncedError, Quarantine, QuarantineBucket
from daicho.stream.records import Batch
from daicho.tally.immediate_rollup import ImmediateRollup


class ProjectorTable(GetsItems, QueriesItems, PutsItems, UpdatesItems, Protocol):
    """The operations of the table that the projector needs; reads are for immediate rollups."""


def _ignore_metrics(_counts: Mapping[str, int]) -> None:
    """Discard the counts: the default of ``emit_metrics``."""


class Projector:
    """Processes batches on one table. ``threads`` writes run at once; 1 writes in order.

    ``emit_metrics`` receives for each batch how many records it quarantined and how many open
    claims its shard has, where there are any.
    """

    def __init__(
        self,
        store: ProjectorTable,
        objects: QuarantineBucket,
        ledger: Ledger,
        *,
        dirty_shards: int,
        threads: int = 1,
        now: Callable[[], dt.datetime] = utc_now,
        emit_metrics: Callable[[Mapping[str, int]], None] = _ignore_metrics,
    ) -> None:
        self._quarantine = Quarantine(store, objects, now=now)
        self._writer = BatchWriter(store, dirty_shards=dirty_shards, now=now)
        self._ledger = ledger
        self._map = make_mapper(threads)
        self._at_once = ImmediateRollup(store, ledger, self._map)
        self._emit_metrics = emit_metrics

    def project(self, batch: Batch, retry_budget: RetryBudget) -> str | None:
        """Process a batch; gives the number of the lowest record not known to be done, or None.

        Raises:
            RefusedError: DynamoDB refuses a write for good; computing should have detected that.
        """
        computed_batch = compute_batch(batch.records, self._ledger)
        quarantined = self._quarantine.set_aside(computed_batch.poison, retry_budget, self._map)
        if quarantined.claimed:
            self._emit_metrics({"RecordsQuarantined": quarantined.claimed})
        if not quarantined.known:
            return batch.records[0].number  # rule 13: nothing of the batch is written
        # What stops a batch: the first record of a newer generation, or, before that one, the
        # first that there is no room to set aside (rules 3, 18).
        stop = quarantined.stop or computed_batch.stop
        computed = [
            changes
            for changes in computed_batch.computed
            if stop is None or changes.record.seq < stop.seq
        ]
        try:
            unwritten = self._write_changes(batch.shard, computed, retry_budget)
        except NotAnnouncedError:
            return batch.records[0].number  # rule 14: nothing of the batch is written
        undone = [write.lowest for write in unwritten]
        if stop is not None:
            undone.append(stop.seq)
            # A quick return would burn the mapping's retries and lose good records (rule 3).
            retry_budget.sleep_until_deadline()
        numbers = {record.seq: record.number for record in batch.records}
        return numbers[min(undone)] if undone else None

    def _write_changes(
        self, shard: str, computed: list[RecordChanges], retry_budget: RetryBudget
    ) -> tuple[ProjectorWrite, ...]:
        """Write the changes of the records; gives the writes that are not known to be done.

        Raises:
            NotAnnouncedError: nothing was written.
        """
        writes = fold_batch(computed)
        if not writes:
            return ()
        shard_claims = self._quarantine.announce(shard, get_last_sequence(writes), retry_budget)
        if shard_claims.open:
            self._emit_metrics({"ClaimsOpen": shard_claims.open})
        if shard_claims.claims:
            # Claimed records are left out before folding: a redrive applies them (rule 14).
            writes = fold_batch(
                [changes for changes in computed if changes.record.seq not in shard_claims.claims]
            )
        unwritten = retry_all(writes, self._writer.write, retry_budget, self._map)
        if not unwritten:  # else no time is left either
            tallies = [write.key.pk for write in writes if isinstance(write, SlotWrite)]
            self._at_once.roll_up_tallies(tallies, retry_budget)
        return unwritten
