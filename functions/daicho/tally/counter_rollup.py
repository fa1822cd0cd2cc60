"""Rollup of a fast counter: all its slots to totals and ranking, and as many slots as it needs.

Rule 12 as for aggregates, with one revision for all groups of a counter: the head's. A rollup
reads it before the slots and raises it after them, if it is unchanged. Its totals then carry it,
and never replace those of a later rollup. It may be cut off anywhere: marks go last.

A counter of more than `BLOCK_SLOTS` slots takes several turns. In each of them a rollup reads one
block of slots, and stores their sums as an item. It reads a block again only if a slot of it is
marked. So what was read is kept when the function ends, and a vote costs the reading of one block.

1. The block is put if it is as it was read before its slots.
2. The head's revision is raised if it is as it was read before the block. A rollup that read the
   older block does not get its turn any more, so its totals do not miss this one. The head is
   marked, because the totals do not include the block yet.
3. The marks of the block's slots go.

The last turn adds all blocks up and writes the totals. The head's mark goes if nobody has raised
the revision since.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from math import ceil

from daicho.derive.contributions import Amount
from daicho.layout import item_keys
from daicho.plan import CounterPlan, EntityPlan, Ledger
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.storage.attributes import Image, get_integer, measure_image
from daicho.storage.protocols import try_put, try_update
from daicho.storage.requests import Query
from daicho.tally import counter_items, counter_slots
from daicho.tally.counter_head import CounterHead, read_block, write_block
from daicho.tally.counter_items import CounterName, CounterReading, CounterSums
from daicho.tally.fair_queue import MAX_CLEARED_MARKS, DirtyTally, TallyTurn
from daicho.tally.limited_table import TallyTable
from daicho.tally.rankings import build_ranking_key
from daicho.tally.slots import TallyName

_log = logging.getLogger(__name__)
MAX_STARTS = 3
"""How often a turn is started over when another rollup is at it; then that one has done it."""
CLEANING_S = 5.0
"""The seconds of a turn for marks: while a counter is voted on, they come back as fast as they go.
The next run finds the rest."""
MAX_BLOCK_BYTES = 300_000
"""The largest block that is stored. A counter with more groups is read whole, each time."""


def roll_up_counter(
    store: TallyTable,
    ledger: Ledger,
    tally: DirtyTally,
    now: Callable[[], dt.datetime],
    retry_budget: RetryBudget,
    dirty_shards: int,
) -> TallyTurn:
    """Bring the totals of a counter up to its slots, or do the next part of that.

    Slots that are done are removed from ``tally.marked_slots``.

    Raises:
        StoreError: what is not done stays marked.
        UnknownEntityError: no generation declares the counter; it stays marked.
    """
    name = CounterName.parse(tally.partition)
    plan, counter = ledger.find_counter(name.entity, name.counter, name.since)
    rollup = CounterRollup(store, name, plan, counter, now, retry_budget, dirty_shards)
    known = max((number + 1 for number in tally.marked_slots), default=1)
    for _ in range(MAX_STARTS):
        head = CounterHead(name, store.get(name.head_key, consistent=True))
        known = max(known, counter_items.read_slot_count(head.item))
        if known <= counter_items.BLOCK_SLOTS:
            first = min(tally.marked_slots, default=0)
            turn, known = rollup.roll_up_whole(head, first, known)
        else:
            turn = rollup.roll_up_block(head, known, tally)
        if turn is not None:
            return turn
    return TallyTurn(overtaken=True)


@dataclass(frozen=True)
class CounterRollup:
    """The parts of a turn. They return None if another rollup was at the counter meanwhile."""

    store: TallyTable
    name: CounterName
    plan: EntityPlan
    counter: CounterPlan
    now: Callable[[], dt.datetime]
    retry_budget: RetryBudget
    dirty_shards: int

    def roll_up_whole(
        self, head: CounterHead, first: int, known: int
    ) -> tuple[TallyTurn | None, int]:
        """Read all slots, beginning with ``first``; gives the number of slots too.

        None if there are more than a block of them.
        """
        began = self.now()  # behind the head: of the rollup that wrote it this is the time since
        most = max(known, counter_items.BLOCK_SLOTS)
        reading = counter_slots.read(self.store, self.name, first, known, most=most)
        if reading.slots > most:
            return None, reading.slots
        groups = None if head.is_marked else map(counter_items.parse_group, reading.dirty)
        return self._write(head, reading, reading.sums, groups, began), reading.slots

    def roll_up_block(
        self, head: CounterHead, slot_count: int, tally: DirtyTally
    ) -> TallyTurn | None:
        """Read the next block that is not up to date; after the last one, write the totals."""
        began, epoch = self.now(), head.epoch
        stored, revision = tally.blocks, head.revision
        if not revision or tally.blocks_revision != revision:
            stored = self._read_blocks()
        tally.blocks_revision = 0
        sums = {
            number: read_block(block)
            for number, block in stored.items()
            if epoch is not None and get_integer(block, "epoch") == epoch
        }
        epoch = epoch or revision + 1
        pending = _list_blocks(slot_count) - sums.keys()
        pending |= {number // counter_items.BLOCK_SLOTS for number in tally.marked_slots}
        reading = CounterReading(slot_count, ())
        if pending:
            number = min(pending)
            reading = self._read_block(number, slot_count)
            sums[number] = reading.sums
            put = write_block(self.name, number, stored.get(number), sums[number], epoch)
            if measure_image(put.item) > MAX_BLOCK_BYTES:
                return self.roll_up_whole(head, 0, reading.slots)[0]
            if not try_put(self.store, put):
                return None
            pending = (pending | _list_blocks(reading.slots) - sums.keys()) - {number}
        if not pending:
            total = CounterSums.add_up(sums.values())
            return self._write(head, reading, total, None, began, epoch)
        # While a block is in no total, the head is marked.
        mark = head.mark(reading.slots, epoch, dirty_shards=self.dirty_shards, now=began)
        if not try_update(self.store, mark):
            return None
        self._clear_marks(reading.dirty)
        tally.marked_slots -= set(_list_slots(number, reading.slots))
        tally.blocks, tally.blocks_revision = {**stored, number: put.item}, revision + 1
        return TallyTurn(len(reading.images), is_done=False)

    def _read_blocks(self) -> dict[int, Image]:
        """The stored blocks, by number."""
        prefix = keys.render_prefix(counter_items.BLOCK_SORT_KEY)
        query = Query(self.name.head_key.pk, prefix=prefix, consistent=True)
        pages = self.store.query_pages(query)
        items = [item for page in pages for item in page.items]
        return {int(keys.parse(item["SK"]["S"])[-1]): item for item in items}

    def _read_block(self, number: int, slot_count: int) -> CounterReading:
        """The slots of a block. A slot's item may hold a higher number of slots."""
        images = [
            image
            for slot in _list_slots(number, slot_count)
            for image in counter_slots.read_slot(self.store, self.name, slot)
        ]
        slot_count = max(slot_count, *map(counter_items.read_slot_count, images), 0)
        return CounterReading(slot_count, tuple(images))

    def _write(
        self,
        head: CounterHead,
        reading: CounterReading,
        sums: CounterSums,
        groups: Iterable[tuple[str, ...]] | None,
        began: dt.datetime,
        epoch: int | None = None,
    ) -> TallyTurn | None:
        """Write head and totals, and take marks away. ``groups`` None: the totals of all groups."""
        first_mark = min((image["GSI2SK"]["S"] for image in reading.dirty), default=None)
        change = head.write(sums, reading.slots, began, first_mark=first_mark, epoch=epoch)
        if not try_update(self.store, change):
            return None
        number = get_integer(change.values, ":slots") or 0
        if number > reading.slots:
            _log.warning("slots ran hot", extra={"counter": self.name.head_key.pk, "slots": number})
        turn = get_integer(change.values, ":new") or 0
        for by in dict.fromkeys(sums.votes if groups is None else groups):
            self._write_total(by, sums.votes[by], turn)
        if head.is_marked:
            try_update(self.store, head.clear_mark(turn))
        self._clear_marks(reading.dirty)
        return TallyTurn(len(reading.images))

    def _write_total(self, by: tuple[str, ...], votes: int, turn: int) -> None:
        name, within = self.name, self.name.within
        tally_name = TallyName(name.tenant, name.entity, name.counter, name.since, (*within, *by))
        aggregate = self.counter.tally
        tally = item_keys.render_tally_partition(name.tenant, self.plan, aggregate, within, by)
        ranked = build_ranking_key(tally_name, self.plan, aggregate, Amount(votes, Decimal(votes)))
        try_update(self.store, counter_items.write_total(tally, votes, turn, ranked))

    def _clear_marks(self, dirty: Sequence[Image]) -> None:
        until = max(self.retry_budget.reserve, self.retry_budget.remaining() - CLEANING_S)
        for slot in dirty[:MAX_CLEARED_MARKS]:
            if self.retry_budget.remaining() <= until:
                break
            try_update(self.store, counter_items.clear_dirty_mark(slot))


def _list_blocks(slot_count: int) -> set[int]:
    return set(range(ceil(slot_count / counter_items.BLOCK_SLOTS)))


def _list_slots(block: int, slot_count: int) -> range:
    first = block * counter_items.BLOCK_SLOTS
    return range(first, min(first + counter_items.BLOCK_SLOTS, slot_count))
