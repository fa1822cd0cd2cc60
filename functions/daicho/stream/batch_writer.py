"""Writing what a batch changes: derived items (EXACTNESS rule 6) and slots (rule 9).

Each write is fenced by the numbers of the records that caused it, and never goes backwards.

A derived item that is probably new is inserted, up to 25 of them in one request (ADR 0161). An
insert changes no existing item, so it cannot go backwards either. Whether an item that was not
inserted must be written is decided by the fenced put, and by nothing else.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from daicho.derive.derived_items import build_derived_item
from daicho.errors import (
    ConditionFailedError,
    RefusedError,
    StoreError,
    ThrottledError,
    UnavailableError,
)
from daicho.runtime.retry import Mapper, RetryBudget, retry_rounds
from daicho.storage import keys
from daicho.storage.attributes import ItemKey
from daicho.storage.protocols import PutsItems, apply_update
from daicho.storage.table import Table
from daicho.stream.batch_fold import (
    DerivedWrite,
    ProjectorWrite,
    SlotDelta,
    SlotWrite,
    sum_deltas,
    take_one_update,
)
from daicho.tally import slots

_log = logging.getLogger(__name__)
MAX_BATCH = 25
"""Statements of one request: the limit of DynamoDB."""
FEW_WRITES = 300
"""The writes of a tenant with a share in the batch that delays nobody: twice those of an item."""
MAX_BATCHED_COPY = 16_000
"""Characters of a copy. A row with a larger one has a request of its own, which then takes more
units than anything else."""
Work = tuple[ProjectorWrite, ...]


class BatchWriter:
    """Writes batches to one table. ``dirty_shards``: over how many partitions marks are spread."""

    def __init__(self, store: Table, *, dirty_shards: int, now: Callable[[], dt.datetime]) -> None:
        self._store = store
        self._dirty_shards = dirty_shards
        self._now = now

    def write_all(
        self, writes: Sequence[ProjectorWrite], retry_budget: RetryBudget, map_all: Mapper = map
    ) -> Work:
        """Carry out the writes of a folded batch, or find them done already.

        Returns the writes that are not known to be done when little time is left (rule 5).

        Raises:
            RefusedError: a write that no retry can succeed at.
        """

        def write_round(remaining: Sequence[ProjectorWrite]) -> Work:
            return tuple(chain.from_iterable(map(write_share, _split_shares(remaining))))

        def write_share(remaining: Sequence[ProjectorWrite]) -> Work:
            removals = [write for write in remaining if _is_removal(write)]
            others = [write for write in remaining if not _is_removal(write)]
            # An item that stays in a list must not be missing from it in between (rule 7), so all
            # rows are put before the first one is removed. The removals follow also if a put was
            # throttled. So an item whose put was throttled may be missing until the next round. A
            # put that is throttled for long must not keep rows that no item implies any more.
            return (*write_stage(others), *write_stage(removals))

        def write_stage(stage: Sequence[ProjectorWrite]) -> Work:
            undone: list[ProjectorWrite] = []
            refused: list[ProjectorWrite] = []
            for left, decided_by_put in map_all(attempt, _group_requests(stage)):
                undone += left
                refused += decided_by_put
            outcomes = map_all(attempt, [(write,) for write in refused])
            return (*undone, *chain.from_iterable(left for left, _ in outcomes))

        def attempt(request: Work) -> tuple[Work, Work]:
            if not retry_budget.has_time_left:
                return request, ()
            if len(request) > 1:
                return self._insert(request)
            return self._write(request, retry_budget), ()

        return retry_rounds(writes, write_round, retry_budget)

    def _insert(self, batch: Work) -> tuple[Work, Work]:
        """Insert items: the writes that are not done, and those that the fenced put decides."""
        now = self._now()
        items = [
            build_derived_item(write.key, write.row, write.seq, now)
            for write in batch
            if isinstance(write, DerivedWrite)
        ]
        try:
            outcomes = self._store.insert_batch(items)
        except ThrottledError as error:
            _log.warning("not done: %s", error)
            return batch, ()
        except StoreError as error:  # any of them may have been inserted
            _log.warning("each is put instead: %s", error)
            return (), batch
        results = tuple(zip(batch, outcomes, strict=True))
        throttled = tuple(write for write, outcome in results if outcome == "throttled")
        if throttled:
            _log.warning(
                "not done: %s of %s inserts are throttled, the first at %s",
                *(len(throttled), len(batch), throttled[0].key),
            )
        # "refused" does not show what is stored: it may be an older item, also a tombstone.
        return throttled, tuple(write for write, outcome in results if outcome == "refused")

    def _write(self, request: Work, retry_budget: RetryBudget) -> Work:
        """Write one item: the write, if it is not known to be done."""
        (write,) = request
        try:
            if isinstance(write, DerivedWrite):
                write_derived_item(self._store, write, self._now())
            elif not self._count(write, retry_budget):
                return request
        except UnavailableError as error:
            _log.warning("not done: %s", error)
            return request
        return ()

    def _count(self, write: SlotWrite, retry_budget: RetryBudget) -> bool:
        """Rule 9: count all deltas; a refusal shows which of them remain, until none does.

        Returns whether it is done; it is not if little time is left between two updates (rule 5).
        """
        deltas: Sequence[SlotDelta] = write.deltas
        while deltas:
            if not retry_budget.has_time_left:
                return False
            prefix = take_one_update(deltas, slots.MAX_UPDATE_PARTS)
            update = slots.add_delta(
                write.key,
                sum_deltas(prefix),
                prefix[0].seq,
                prefix[-1].seq,
                dirty_shards=self._dirty_shards,
                now=self._now(),
            )
            try:
                apply_update(self._store, update)
            except ConditionFailedError as refused:
                if refused.item is None:
                    raise RefusedError(f"{write.key}: refused, but no item exists") from None
                counted = refused.item["seq"]["S"]
                deltas = tuple(delta for delta in deltas if delta.seq > counted)
            else:
                deltas = deltas[len(prefix) :]
        return True


def write_derived_item(store: PutsItems, write: DerivedWrite, now: dt.datetime) -> None:
    """Put the row, or a tombstone even where no item existed; never over an equal or newer item."""
    item = build_derived_item(write.key, write.row, write.seq, now)
    try:
        store.put(item, condition=f"{slots.FENCE}:seq", values={":seq": {"S": write.seq}})
    except ConditionFailedError:
        return


def _group_requests(writes: Sequence[ProjectorWrite]) -> list[Work]:
    """The writes of each request: batches of items that are probably new, and single writes.

    An insert of an item that exists is billed, and is followed by a put.
    """
    new: list[ProjectorWrite] = []
    single: list[Work] = []
    for write in writes:
        if _is_probably_new(write):
            new.append(write)
        else:
            single.append((write,))
    return [tuple(new[at : at + MAX_BATCH]) for at in range(0, len(new), MAX_BATCH)] + single


def get_tenant(key: ItemKey) -> str:
    """The tenant of a derived item or a slot."""
    return key.pk.partition(keys.DELIMITER)[0]


def _split_shares(writes: Sequence[ProjectorWrite]) -> Iterator[Sequence[ProjectorWrite]]:
    """The writes of tenants with few of them, and then those of tenants with many (ADR 0196).

    Only the order of writes of different items depends on it: an item is of one tenant.
    """
    tenants = [get_tenant(write.key) for write in writes]
    counts = Counter(tenants)
    if len(counts) == 1 or max(counts.values(), default=0) <= FEW_WRITES:
        yield writes
        return
    for has_few in (True, False):
        yield [
            write
            for write, tenant in zip(writes, tenants, strict=True)
            if (counts[tenant] <= FEW_WRITES) is has_few
        ]


def _is_probably_new(write: ProjectorWrite) -> bool:
    if not isinstance(write, DerivedWrite) or write.was_derived:
        return False
    copy = write.row.copy if write.row is not None else None
    return copy is None or len(copy) <= MAX_BATCHED_COPY


def _is_removal(write: ProjectorWrite) -> bool:
    return isinstance(write, DerivedWrite) and write.row is None
