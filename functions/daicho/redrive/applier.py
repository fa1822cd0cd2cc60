"""Applying one record that was set aside, exactly once (EXACTNESS rules 15, 16).

It writes the derived items first. Then it counts, with the claim's change to done, in one
transaction. After a kill at any point it can start again. If two apply a record at once, one of
them finds the claim done.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Sequence
from enum import Enum
from functools import cached_property, partial

from daicho.errors import RefusedError, TransactionFailedError, UnavailableError
from daicho.plan import Ledger
from daicho.redrive.slot_decision import SlotDecision, decide_recount, decide_slots
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import Mapper, RetryBudget, retry, retry_all
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.requests import MAX_TRANSACTION_WRITES, Write
from daicho.storage.table import Table
from daicho.stream import changes, claims
from daicho.stream.batch_fold import DerivedWrite
from daicho.stream.batch_writer import write_derived_item
from daicho.stream.changes import IndexRows, PlannedImage, RecordChanges
from daicho.stream.claims import Claim, ShardClaims, State
from daicho.stream.older_images import OlderImages
from daicho.stream.records import StreamRecord
from daicho.stream.recount_list import build_recount_key, build_recount_mark
from daicho.stream.released_generations import learn_released
from daicho.stream.shard_items import read_shard
from daicho.stream.stored_rows import read_repaired
from daicho.stream.time_limit import limit_time

SECONDS_PER_RECORD = 30.0
"""More than a batch has for one: a record that was only slow is applied."""


class Outcome(Enum):
    """The outcome of applying a record."""

    APPLIED = "applied"
    ALREADY = "already done"
    FAILING = "cannot be computed"
    LATER = "not known to be done"


@dataclass(frozen=True)
class ApplyResult:
    """The outcome for a record, with the error that blocks it, or the tallies to recount."""

    outcome: Outcome
    error: Exception | None = None
    recount: tuple[str, ...] = ()

    @property
    def is_done(self) -> bool:
        """Whether its claim is done now."""
        return self.outcome in (Outcome.APPLIED, Outcome.ALREADY)


class FullOfDoneError(Exception):
    """A shard item has no room for another done claim."""

    def __init__(self) -> None:
        super().__init__("the shard item holds as many done claims as it may: they go in 72 hours")


@dataclass(frozen=True)
class Applier:
    """Applies records on one table."""

    store: Table
    ledger: Ledger
    dirty_shards: int
    now: Callable[[], dt.datetime]
    map_all: Mapper = map

    @cached_property
    def _older_images(self) -> OlderImages:
        return OlderImages(self.store, self.ledger, self.now)

    def apply(self, record: StreamRecord, claim: Claim, retry_budget: RetryBudget) -> ApplyResult:
        """Apply a record under its claim as it was read.

        It applies no record of a newer generation, and none while the base item is of one (rule
        15): this code would ignore the declarations that it does not know.
        """
        try:
            base = retry(lambda: self.store.get(record.key, consistent=True), retry_budget)
            # No batch notes it: the record may never have been handled (rule 32).
            self._older_images.note_item(record.key, base, retry_budget)
            images = (record.old, record.new, base)
            learn = partial(learn_released, self.store, self.ledger, images)
            ledger = retry(learn, retry_budget)
            computed = self._compute(record, base, ledger)
            if isinstance(computed, Exception):
                return ApplyResult(Outcome.FAILING, computed)
            record_changes, rows = computed
            # The rows are those of the base item and not of the record, because the records behind
            # this one did not write the rows that were alike in their images.
            every = {*record_changes.before, *record_changes.after, *rows}
            if record_changes.is_repair:
                stored = read_repaired(self.store, [record_changes], retry_budget, self.map_all)
                every.update(*stored.values())
            self.write_rows(every, rows, record.seq, retry_budget)
            return self._count(record_changes, claim, retry_budget)
        except UnavailableError as error:
            return ApplyResult(Outcome.LATER, error)
        except RefusedError as error:  # a bug, and it blocks no other record
            return ApplyResult(Outcome.FAILING, error)

    def _compute(
        self, record: StreamRecord, base: Image | None, ledger: Ledger
    ) -> tuple[RecordChanges, IndexRows] | Exception:
        """The record's changes and the rows that the base item derives now, or the error."""
        try:
            computed = limit_time(SECONDS_PER_RECORD, changes.compute_record, record, ledger)
            rows = limit_time(SECONDS_PER_RECORD, lambda: PlannedImage.parse(base, ledger).rows)
        except Exception as error:  # whatever it is, it would occur again, as in a batch
            return error
        return computed, rows

    def write_rows(
        self, every: Collection[ItemKey], rows: IndexRows, seq: str, retry_budget: RetryBudget
    ) -> None:
        """Put rows, and tombstones at the other keys of ``every``, under a record's number.

        So newer rows are kept.

        Raises:
            UnavailableError: not all of them are known to be written.
        """
        writes = [DerivedWrite(key, rows.get(key), seq, seq) for key in sorted(every)]
        unwritten = retry_all(
            writes,
            lambda write: write_derived_item(self.store, write, self.now()),
            retry_budget,
            self.map_all,
        )
        if unwritten:
            raise UnavailableError("derived items are not all written")

    def _count(
        self, computed: RecordChanges, claim: Claim, retry_budget: RetryBudget
    ) -> ApplyResult:
        """Count the record and make its claim done, or find it done already."""
        failure: Exception | None = None
        for _ in retry_budget.count_attempts():
            try:
                decision = self.decide_slots(claim.state, computed)
                record = computed.record
                finishing = claims.finish_update(record.shard, claim, self.now())
                self.commit([finishing, *decision.counting], decision.recount, record.seq)
            except TransactionFailedError as failed:
                failure = failed
                if 0 not in failed.refused:
                    continue  # a slot is not as it was read: decide anew
                shard_claims = ShardClaims.from_item(computed.record.shard, failed.refused[0])
                stored_claim = shard_claims.claims.get(claim.seq)
                if stored_claim is None or stored_claim.state == "done":
                    return ApplyResult(Outcome.ALREADY)
                if stored_claim == claim:
                    return ApplyResult(Outcome.FAILING, FullOfDoneError())
                claim = stored_claim
            except UnavailableError as error:
                failure = error
            else:
                return ApplyResult(Outcome.APPLIED, recount=decision.recount)
        return ApplyResult(Outcome.LATER, failure)

    def decide_slots(self, state: State, computed: RecordChanges) -> SlotDecision:
        """Decide the updates of the slots: a recount, where a transaction cannot hold them.

        ``state``: of the record's claim.

        Raises:
            StoreError: the table does not answer.
        """
        read = state == "discarded"
        slots = {key: self.store.get(key, consistent=True) for key in computed.deltas if read}
        existing_slots = {key: slot for key, slot in slots.items() if slot is not None}
        # Slots are folded only after the settle time, so not before this redrive has ended if the
        # shard is not retired now (rule 48).
        is_retired = read and read_shard(self.store, computed.record.shard).retired_at is not None
        decision = decide_slots(
            state,
            computed,
            existing_slots,
            is_retired=is_retired,
            dirty_shards=self.dirty_shards,
            now=self.now(),
        )
        if len(decision.counting) + len(decision.recount) >= MAX_TRANSACTION_WRITES:
            return decide_recount(computed)
        return decision

    def commit(self, writes: Sequence[Write], recount: Sequence[str], seq: str) -> None:
        """One transaction of some writes, and of the marks of tallies on the recount list.

        ``seq``: the record because of which they are recounted.

        Raises:
            TransactionFailedError: a write was refused.
            StoreError: it is unknown whether it is done.
        """
        now = self.now()
        marks: list[Write] = [
            build_recount_mark(
                tally, seq, self.store.get(build_recount_key(tally), consistent=True), now
            )
            for tally in recount
        ]
        while len(writes) + len(marks) > MAX_TRANSACTION_WRITES:
            # A mark may be set twice: those that have no room beside the claim are written first.
            self.store.transact(marks[:MAX_TRANSACTION_WRITES])
            del marks[:MAX_TRANSACTION_WRITES]
        self.store.transact([*writes, *marks])
