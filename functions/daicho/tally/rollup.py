"""Rollup: brings the totals of tallies that changed up to their slots.

It finds them by their dirty marks, never by scanning, so its cost grows with the changes. It may
be cut off anywhere: a tally that is not done keeps its marks, and the next run finds it. It also
folds the idle slots of the tallies that it rolls up; a tally that nothing is counted in any more
keeps its slots, and costs nothing.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from daicho.derive.contributions import Amount
from daicho.errors import TransactionFailedError
from daicho.layout import item_keys
from daicho.plan import AggregatePlan, EntityPlan, Ledger
from daicho.runtime.clock import utc_now
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget, make_mapper
from daicho.storage import keys
from daicho.storage.attributes import Image
from daicho.storage.capacity import CapacityUnits
from daicho.storage.item_key import ItemKey
from daicho.storage.protocols import (
    GetsItems,
    PutsItems,
    QueriesItems,
    TransactsWrites,
    UpdatesItems,
    try_put,
    try_update,
)
from daicho.storage.requests import ItemPage, Query
from daicho.tally import counter_items, counter_rollup, slots, total_items
from daicho.tally.dirty_shards import remember_shards
from daicho.tally.reader import read_slots, sum_slots
from daicho.tally.slots import SettledShards

MARKS_PER_PAGE = 200
MAX_STARTS = 3
"""How often a tally is started over when another rollup is at it; then that one has done it."""

_log = logging.getLogger(__name__)


class TotalsTable(GetsItems, QueriesItems, PutsItems, Protocol):
    """The operations of the table that a tally's total needs."""


class RollupTable(TotalsTable, UpdatesItems, TransactsWrites, Protocol):
    """The operations of the table that the rollup needs. ``units`` count its requests."""

    @property
    def units(self) -> CapacityUnits:
        """The units taken since the last reading."""


@dataclass(frozen=True)
class RollupReport:
    """The counts of one run, and the capacity units that it took.

    ``oldest_mark`` is the time at which the oldest mark was set. ``overtaken``: tallies that were
    left to another rollup.
    """

    rolled: int = 0
    failed: int = 0
    slots_read: int = 0
    oldest_mark: str | None = None
    finished: bool = True
    slots_folded: int = 0
    overtaken: int = 0
    read_units: float = 0.0
    write_units: float = 0.0

    @property
    def is_complete(self) -> bool:
        """Whether every tally that was found dirty was rolled up."""
        return self.finished and not self.failed and not self.overtaken

    def counts(self) -> dict[str, float]:
        """The counts of the run, by metric; none if it has found no mark."""
        if self.oldest_mark is None:
            return {}
        return {
            "TalliesRolledUp": self.rolled,
            "TalliesFailed": self.failed,
            "SlotsRead": self.slots_read,
            "SlotsFolded": self.slots_folded,
            "RollupReadUnits": self.read_units,
            "RollupWriteUnits": self.write_units,
        }

    def age_of_oldest_mark(self, now: dt.datetime) -> float:
        """The age of the oldest mark in seconds; 0 if there was none."""
        if self.oldest_mark is None:
            return 0.0
        return max(0.0, (now - dt.datetime.fromisoformat(self.oldest_mark)).total_seconds())


@dataclass(frozen=True)
class _RolledUpTally:
    slots_read: int = 0
    slots_folded: int = 0
    failed: bool = False
    late: bool = False
    overtaken: bool = False


@dataclass(frozen=True)
class RolledUpItems:
    """A total as a rollup has written it, and the slots that it has read."""

    total: Image
    slots: tuple[Image, ...]


class TotalWriter:
    """Writes totals, and their places in rankings."""

    def __init__(self, store: TotalsTable, ledger: Ledger) -> None:
        self._store = store
        self._ledger = ledger

    def write_total(self, tally: str) -> RolledUpItems | None:
        """Bring a total up to its slots (rule 12); None if another rollup is at it.

        The total's revision is read before the slots, and the total is written only if it is
        still the same: a rollup that read older slots can then never overwrite a newer total
        whose marks are gone already, nor one whose base has taken a slot meanwhile.

        Raises:
            StoreError: it is not known to be done.
            UnknownEntityError: no generation declares its aggregate.
        """
        name = slots.TallyName.parse(tally)
        plan, aggregate = self._ledger.find_aggregate(name.entity, name.aggregate, name.since)
        for _ in range(MAX_STARTS):
            total = self._store.get(total_items.build_total_key(tally), consistent=True)
            slot_items = read_slots(self._store, tally)
            amount = total_items.read_base(total) + sum_slots(slot_items)
            place = build_ranking_key(name, plan, aggregate, amount)
            total_put = total_items.write_total(tally, total, amount, place)
            if try_put(self._store, total_put):
                return RolledUpItems(total_put.item, slot_items)
        return None


class Rollup(TotalWriter):
    """Rolls dirty tallies up on one table; ``threads`` of them at once.

    ``dirty_shards``: how many partitions marks are spread over now; it reads all ever used.
    ``get_settled_shards``: the stream shards whose slots need not be kept for 72 hours.
    """

    def __init__(
        self,
        store: RollupTable,
        ledger: Ledger,
        *,
        dirty_shards: int,
        threads: int = 1,
        now: Callable[[], dt.datetime] = utc_now,
        get_settled_shards: Callable[[], SettledShards] = SettledShards,
    ) -> None:
        super().__init__(store, ledger)
        self._store: RollupTable = store
        self._now = now
        self._dirty_shards = dirty_shards
        self._get_settled_shards = get_settled_shards
        self._map = make_mapper(threads)

    def run(self, retry_budget: RetryBudget) -> RollupReport:
        """Roll up every tally that is found dirty, or as many as there is time for.

        Raises:
            StoreError: what is dirty cannot be read.
        """
        done: list[_RolledUpTally] = []
        marked: list[str] = []
        seen: set[str] = set()
        settled = self._get_settled_shards()
        self._store.units.take_total()
        for page in self._query_dirty_pages():
            marks = [item for item in page.items if not self._is_disabled(item["PK"]["S"])]
            marked += [item["GSI2SK"]["S"] for item in marks]
            # The index shows a mark for a while after it is gone: each tally once a run.
            partitions = {
                counter_items.read_whole_number(item["PK"]["S"]): item["PK"]["S"] for item in marks
            }
            tallies = [partition for whole, partition in partitions.items() if whole not in seen]
            seen.update(partitions)
            done += self._map(
                lambda tally: self._try_roll_up(tally, retry_budget, settled), tallies
            )
            if not retry_budget.has_time_left:
                break
        read, written = self._store.units.take_total()
        return RollupReport(
            rolled=sum(not result.failed and not result.late for result in done),
            failed=sum(result.failed for result in done),
            slots_read=sum(result.slots_read for result in done),
            oldest_mark=min(marked, default=None),
            finished=retry_budget.has_time_left and not any(result.late for result in done),
            slots_folded=sum(result.slots_folded for result in done),
            overtaken=sum(result.overtaken for result in done),
            read_units=read,
            write_units=written,
        )

    def roll_up_tally(
        self, tally: str, retry_budget: RetryBudget, settled: SettledShards
    ) -> _RolledUpTally:
        """Bring one tally up to its slots (rule 12), and fold those that are idle (rule 11).

        Marks go after the total is written, each only if its slot is as read.

        Raises:
            StoreError: what is not done stays dirty, or unfolded.
            UnknownEntityError: no generation declares its aggregate; it stays dirty.
        """
        if counter_items.is_counter_partition(tally):
            counter = counter_rollup.roll_up_counter(
                self._store, self._ledger, tally, self._now, build_ranking_key, retry_budget
            )
            return _RolledUpTally(len(counter.images))
        rolled_up = self.write_total(tally)
        if rolled_up is None:
            return _RolledUpTally(overtaken=True)
        for slot in rolled_up.slots:
            if "GSI2PK" in slot:
                try_update(self._store, slots.clear_dirty_mark(slot))
        return _RolledUpTally(len(rolled_up.slots), self._fold(rolled_up, settled))

    def _fold(self, rolled_up: RolledUpItems, settled: SettledShards) -> int:
        """Fold the idle slots of what was read; gives how many."""
        now, total = self._now(), rolled_up.total
        idle = [slot for slot in rolled_up.slots if slots.is_idle(slot, now, settled)]
        folded_count = 0
        for group in total_items.group_slots(idle):
            folded = self._fold_group(total, group)
            if folded is not None:
                total, folded_count = folded, folded_count + len(group)
        return folded_count

    def _fold_group(self, total: Image, idle: Sequence[Image]) -> Image | None:
        """Fold some slots with one transaction: the total after it; None if it is not done."""
        for _ in range(MAX_STARTS):
            writes, folded = total_items.fold_idle_slots(total, idle)
            try:
                self._store.transact(writes)
            except TransactionFailedError as error:
                # Another rollup has written the total: the slots are still as read.
                stored = error.refused.get(len(idle))
                if set(error.refused) != {len(idle)} or stored is None:
                    break  # one was counted in, or folded by another rollup: at the next rollup
                total = stored
            else:
                return folded
        return None

    def _is_disabled(self, tally: str) -> bool:
        """Whether a tally is of a disabled instance: nothing counts in it, and it is purged."""
        if not self._ledger.disabled_instances or counter_items.is_counter_partition(tally):
            return False
        name = slots.TallyName.parse(tally)
        return (name.aggregate, name.since) in self._ledger.list_disabled(name.entity)

    def _try_roll_up(
        self, tally: str, retry_budget: RetryBudget, settled: SettledShards
    ) -> _RolledUpTally:
        if not retry_budget.has_time_left:
            return _RolledUpTally(late=True)
        try:
            return self.roll_up_tally(tally, retry_budget, settled)
        except Exception:  # an error of one tally does not block the others
            _log.exception("tally not rolled up", extra={"tally": tally})
            return _RolledUpTally(failed=True)

    def _query_dirty_pages(self) -> Iterator[ItemPage]:
        """Pages of marks, oldest first, of each partition in turn: none starves another."""
        waiting = deque(
            self._store.query_pages(
                Query(slots.render_dirty_partition(n), index="GSI2", limit=MARKS_PER_PAGE)
            )
            for n in range(remember_shards(self._store, self._dirty_shards))
        )
        while waiting:
            pages = waiting.popleft()
            if (page := next(pages, None)) is not None:
                waiting.append(pages)
                yield page


def build_ranking_key(
    name: slots.TallyName, plan: EntityPlan, aggregate: AggregatePlan, amount: Amount
) -> ItemKey | None:
    """A total's place in its ranking, highest first and ties by member; None if it has none."""
    if not aggregate.ranked or amount.items <= 0:
        return None
    split = len(aggregate.within)
    within, by = name.parts[:split], name.parts[split:]
    return ItemKey(
        item_keys.render_ranking_partition(name.tenant, plan, aggregate, within, by),
        keys.render(keys.parse_inverted_score(amount.total), *by),
    )
