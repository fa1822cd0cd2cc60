"""The projector: keeps derived items and aggregates consistent with their base items.

For each batch of stream records, in this order:

1. Compute what each record changes (`daicho.stream.changes`). A generation or an entity that this
   code does not know is looked up (`daicho.stream.released_generations`).
2. Quarantine the records that cannot be computed, under one claim each (rule 13).
3. Announce the last record of the batch in the item of the shard's claims, before any other write.
   From then on no other attempt can claim a record of the batch as uncounted (rule 14). The
   announcement also raises the low watermark and shows which heartbeats arrived (rule 31).
4. Fold the changes into few writes, and write them. While a verification is under way, write to
   its journal before that (`daicho.stream.journal`).
5. Note the generations of items that are older than they should be (`daicho.stream.older_images`).

Each write carries the sequence number of the record that caused it, and a condition that the
stored number is lower. So any record may come again, late, out of order, or from an attempt that
Lambda has given up but that still writes. See docs/explanation/exactness-proof.md.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING

from daicho.errors import UnavailableError
from daicho.plan import Ledger
from daicho.runtime.clock import utc_now
from daicho.runtime.retry import RetryBudget, make_mapper, retry
from daicho.storage.table import Table
from daicho.stream.batch_fold import (
    NOTHING_STORED,
    ProjectorWrite,
    SlotWrite,
    build_announcement,
    fold_batch,
)
from daicho.stream.batch_writer import BatchWriter
from daicho.stream.changes import (
    ComputedBatch,
    RecordChanges,
    compute_batch,
    list_repaired,
)
from daicho.stream.journal import Journal
from daicho.stream.older_images import OlderImages
from daicho.stream.quarantine import NotAnnouncedError, Quarantine, QuarantineBucket
from daicho.stream.records import Batch, StreamRecord
from daicho.stream.released_generations import learn_released
from daicho.stream.shard_items import RetiredShardError
from daicho.stream.stored_rows import read_repaired

if TYPE_CHECKING:
    from daicho.tally.immediate_rollup import ImmediateRollup


def _ignore_metrics(_counts: Mapping[str, int]) -> None:
    """Discard the counts: the default of ``emit_metrics``."""


class Projector:
    """Processes batches on one table. ``threads`` is the number of parallel writes.

    ``objects`` is the failure bucket, for the payloads of quarantined records. ``dirty_shards`` is
    the number of index partitions of dirty marks. ``emit_metrics`` receives the number of records
    that a batch quarantined, and the number of open claims of its shard, if they are not 0.
    """

    def __init__(
        self,
        store: Table,
        objects: QuarantineBucket,
        ledger: Ledger,
        *,
        dirty_shards: int,
        threads: int = 1,
        now: Callable[[], dt.datetime] = utc_now,
        emit_metrics: Callable[[Mapping[str, int]], None] = _ignore_metrics,
    ) -> None:
        self._store = store
        self._quarantine = Quarantine(store, objects, now=now)
        self._journal = Journal(store, objects, now)
        self._writer = BatchWriter(store, dirty_shards=dirty_shards, now=now)
        self._ledger = ledger
        self._map = make_mapper(threads)
        self._older_images = OlderImages(store, ledger, now, self._map)
        self._emit_metrics = emit_metrics

    @cached_property
    def _immediate_rollup(self) -> ImmediateRollup:
        """What updates totals at once; loaded only where an aggregate declares it (ADR 0158)."""
        from daicho.tally.immediate_rollup import ImmediateRollup  # noqa: PLC0415

        return ImmediateRollup(self._store, self._ledger, self._map)

    def project(self, batch: Batch, retry_budget: RetryBudget) -> str | None:
        """Process a batch.

        Returns the sequence number, as in the event, of the first record that may not be done:
        Lambda then retries from there. None if all are done.

        Raises:
            RefusedError: a write that no retry can succeed at; the computation should have failed.
        """
        computed_batch = self._compute(batch, retry_budget)
        try:
            return self._project_computed(batch, computed_batch, retry_budget)
        except RetiredShardError:
            return None  # rule 48: the batch was handled, whatever this code makes of it

    def _compute(self, batch: Batch, retry_budget: RetryBudget) -> ComputedBatch:
        """Compute a batch up to the first record that released code wrote, which is newer."""
        computed = compute_batch(batch.records, self._ledger)
        if computed.stop is None:
            return computed
        images = [image for record in batch.records for image in (record.old, record.new)]
        learn = partial(learn_released, self._store, self._ledger, images)
        try:
            return compute_batch(batch.records, retry(learn, retry_budget))
        except UnavailableError:
            return computed  # it is taken for newer, so it comes again

    def _project_computed(
        self, batch: Batch, computed_batch: ComputedBatch, retry_budget: RetryBudget
    ) -> str | None:
        """Process a batch after its computation, as `project` does.

        Raises:
            RetiredShardError: the shard is retired, so nothing was written.
        """
        quarantined = self._quarantine.set_aside(computed_batch.poison, retry_budget, self._map)
        if quarantined.claimed:
            self._emit_metrics({"RecordsQuarantined": quarantined.claimed})
        if quarantined.open:  # also if nothing of the batch is announced
            self._emit_metrics({"ClaimsOpen": quarantined.open})
        if not quarantined.is_written:
            return batch.records[0].number  # rule 13: nothing of the batch is written
        # The record at which the batch stops: the first of a newer generation, or a poison record
        # before it for which the shard has no room for a claim (rules 3, 18).
        stop = quarantined.stop or computed_batch.stop
        computed = [
            changes
            for changes in computed_batch.computed
            if stop is None or changes.record.seq < stop.seq
        ]
        heartbeats = [
            record for record in computed_batch.heartbeats if stop is None or record.seq < stop.seq
        ]
        try:
            unwritten = self._write_changes(batch, computed, heartbeats, retry_budget)
        except (NotAnnouncedError, UnavailableError):
            return batch.records[0].number  # rules 14, 36, 38: nothing of the batch is written
        undone = [write.lowest for write in unwritten]
        handled = (record for record in batch.records if stop is None or record.seq < stop.seq)
        if (unnoted := self._older_images.note(handled, retry_budget)) is not None:
            undone.append(unnoted.seq)
        if stop is not None:
            undone.append(stop.seq)
            # An immediate return would use up the retries of the event source mapping, and Lambda
            # would discard records that can be processed (rule 3).
            retry_budget.sleep_until_deadline()
        first = min(undone, default=None)
        return next((record.number for record in batch.records if record.seq == first), None)

    def _write_changes(
        self,
        batch: Batch,
        computed: list[RecordChanges],
        heartbeats: list[StreamRecord],
        retry_budget: RetryBudget,
    ) -> tuple[ProjectorWrite, ...]:
        """Write the changes of the records; returns the writes that may not be done.

        Raises:
            NotAnnouncedError, RetiredShardError, UnavailableError: nothing was written.
        """
        writes, repaired = fold_batch(computed), list_repaired(computed)
        others = heartbeats
        if repaired:
            repairing = (each.record for each in computed if each.record.key in repaired)
            others = [*heartbeats, *repairing]
        if not writes and not others:
            return ()
        announcement = build_announcement(batch.records[0], writes, others)
        shard_claims = self._quarantine.announce(batch.shard, announcement, retry_budget)
        if shard_claims.open:
            self._emit_metrics({"ClaimsOpen": shard_claims.open})
        if shard_claims.claims:
            # Claimed records are left out before folding: a redrive applies them (rule 14).
            computed = [each for each in computed if each.record.seq not in shard_claims.claims]
        stored = NOTHING_STORED
        if repaired:
            stored = read_repaired(self._store, computed, retry_budget, self._map)
        if shard_claims.claims or stored:
            writes = fold_batch(computed, stored)
        self._journal.record(shard_claims, computed, retry_budget)
        unwritten = self._writer.write_all(writes, retry_budget, self._map)
        # Unless the time was used up by retries.
        if not unwritten and self._ledger.immediate_aggregates:
            tallies = [write.key.pk for write in writes if isinstance(write, SlotWrite)]
            self._immediate_rollup.roll_up_tallies(tallies, retry_budget)
        return unwritten
