"""Applying one record that was set aside, exactly once (EXACTNESS rules 15, 16).

Derived items first, then everything that is counted, with the claim's change to done, in one
transaction. Killed anywhere, it can be done again from the start; done by two at once, one of
them finds the claim done.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from daicho.errors import RefusedError, TransactionFailedError, UnavailableError
from daicho.plan import Ledger
from daicho.redrive.slot_decision import SlotDecision, decide_recount, decide_slots
from daicho.runtime.retry import RetryBudget, make_mapper, retry, retry_all
from daicho.storage.protocols import GetsItems, PutsItems, TransactsWrites
from daicho.storage.requests import MAX_TRANSACTION_WRITES, Write
from daicho.stream import claims
from daicho.stream.batch_fold import DerivedWrite
from daicho.stream.changes import IndexRows, PlannedImage, RecordChanges, compute_in_time, is_newer
from daicho.stream.claims import Claim, ShardClaims
from daicho.stream.derived_writer import write_derived_item
from daicho.stream.records import StreamRecord
from daicho.stream.recount_list import build_recount_key, build_recount_mark
from daicho.stream.time_limit import limit_time

SECONDS_PER_RECORD = 30.0
"""More than a batch has for one: a record that was only slow is applied."""


class RedriveTable(GetsItems, PutsItems, TransactsWrites, Protocol):
    """What applying needs of the table."""


class Outcome(Enum):
    """What became of a record."""

    APPLIED = "applied"
    ALREADY = "already done"
    FAILING = "cannot be computed"
    NEWER = "of a newer generation"
    LATER = "not known to be done"


@dataclass(frozen=True)
class ApplyResult:
    """What became of a record, with the error that keeps it, or the tallies to recount."""

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


class Applier:
    """Applies records on one table."""

    def __init__(
        self,
        store: RedriveTable,
        ledger: Ledger,
        *,
        dirty_shards: int,
        threads: int = 1,
        now: Callable[[], dt.datetime],
    ) -> None:
        self._store = store
        self._ledger = ledger
        self._dirty_shards = dirty_shards
        self._map = make_mapper(threads)
        self._now = now

    def apply(self, record: StreamRecord, claim: Claim, patience: RetryBudget) -> ApplyResult:
        """Apply a record under its claim as it was read.

        Never one of a newer generation, nor while the base item is (rule 15): what this code
        does not know it would take for nothing.
        """
        try:
            base = retry(lambda: self._store.get(record.key, consistent=True), patience)
        except UnavailableError as error:
            return ApplyResult(Outcome.LATER, error)
        try:
            computed = compute_in_time(record, self._ledger, SECONDS_PER_RECORD)
            rows = limit_time(
                SECONDS_PER_RECORD, lambda: PlannedImage.parse(base, self._ledger).rows
            )
        except Exception as error:  # as in a batch: whatever it is, it would fail again
            newer = is_newer(record, self._ledger, error)
            return ApplyResult(Outcome.NEWER if newer else Outcome.FAILING, error)
        try:
            if not self._derive(computed, rows, patience):
                return ApplyResult(
                    Outcome.LATER, UnavailableError("derived items are not all written")
                )
            return self._count(computed, claim, patience)
        except RefusedError as error:  # a bug, and it keeps nobody else waiting
            return ApplyResult(Outcome.FAILING, error)

    def _derive(self, computed: RecordChanges, rows: IndexRows, patience: RetryBudget) -> bool:
        """Write what the base item derives now, remove what else the record's images derive.

        All under the record's own number, so that whatever is newer stands, and from the base
        item instead of the record: what the records behind this one found alike in their images
        they did not write.
        """
        seq = computed.record.seq
        every = sorted({*computed.before, *computed.after, *rows})
        writes = [DerivedWrite(key, rows.get(key), seq, seq) for key in every]
        left = retry_all(
            writes,
            lambda each: write_derived_item(self._store, each, self._now()),
            patience,
            self._map,
        )
        return not left

    def _count(self, computed: RecordChanges, claim: Claim, patience: RetryBudget) -> ApplyResult:
        """Count the record and make its claim done, or find that somebody has."""
        failure: Exception | None = None
        for _ in patience.count_attempts():
            try:
                decision = self._decide_slots(computed, claim)
                self._commit(decision, computed, claim)
            except TransactionFailedError as failed:
                failure = failed
                if 0 not in failed.refused:
                    continue  # a slot is not as it was read: decide anew
                stands = ShardClaims.from_item(computed.record.shard, failed.refused[0])
                found = stands.claims.get(claim.seq)
                if found is None or found.state == "done":
                    return ApplyResult(Outcome.ALREADY)
                if found == claim:
                    return ApplyResult(Outcome.FAILING, FullOfDoneError())
                claim = found
            except UnavailableError as error:
                failure = error
            else:
                return ApplyResult(Outcome.APPLIED, recount=decision.recount)
        return ApplyResult(Outcome.LATER, failure)

    def _decide_slots(self, computed: RecordChanges, claim: Claim) -> SlotDecision:
        """What to do to the slots: a recount, where a transaction would not take it."""
        read = claim.state == "discarded"
        slots = {key: self._store.get(key, consistent=True) for key in computed.deltas if read}
        found = {key: slot for key, slot in slots.items() if slot is not None}
        decision = decide_slots(
            claim.state, computed, found, dirty_shards=self._dirty_shards, now=self._now()
        )
        if len(decision.counting) + len(decision.recount) >= MAX_TRANSACTION_WRITES:
            return decide_recount(computed)
        return decision

    def _commit(self, decision: SlotDecision, computed: RecordChanges, claim: Claim) -> None:
        seq, now = computed.record.seq, self._now()
        marks: list[Write] = [
            build_recount_mark(
                tally, seq, self._store.get(build_recount_key(tally), consistent=True), now
            )
            for tally in decision.recount
        ]
        while len(marks) >= MAX_TRANSACTION_WRITES:
            # A mark is as good a second time: what finds no room beside the claim comes before.
            self._store.transact(marks[:MAX_TRANSACTION_WRITES])
            del marks[:MAX_TRANSACTION_WRITES]
        finishing = claims.finish_update(computed.record.shard, claim, now)
        self._store.transact([finishing, *decision.counting, *marks])
