"""Rollup: brings the totals of tallies that changed up to their slots.

It finds them by their dirty marks, never by scanning, so its cost grows with the changes. Tenants
take turns, and no request begins when the time is used up. It may be cut off anywhere: a tally that
is not done keeps its marks, and the next run finds it. It also folds the idle slots of the tallies
that it rolls up; a tally that nothing is counted in any more keeps its slots, and costs nothing.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

from daicho.errors import TransactionFailedError
from daicho.plan import Ledger
from daicho.runtime.clock import utc_now
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import Mapper, RetryBudget, make_mapper
from daicho.storage.attributes import Image
from daicho.storage.protocols import try_update
from daicho.storage.table import Table
from daicho.tally import counter_items, slots, total_items
from daicho.tally.counter_rollup import roll_up_counter
from daicho.tally.dirty_marks import find_dirty_tallies
from daicho.tally.dirty_shards import remember_shards
from daicho.tally.fair_queue import MAX_CLEARED_MARKS, DirtyTally, FairQueue, TallyTurn
from daicho.tally.limited_table import LimitedTable, OutOfTimeError
from daicho.tally.slots import SettledShards
from daicho.tally.total_writer import MAX_STARTS, RolledUpItems, TotalWriter

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RollupReport:
    """The counts of one run, and the capacity units that it took.

    ``oldest_mark`` is the time at which the oldest mark was set. ``overtaken``: tallies that were
    left to another rollup. ``most_requests``: those of the most expensive turn of a tally.
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
    most_requests: int = 0

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


class TallyRollup(TotalWriter):
    """Rolls up one tally, and folds its idle slots."""

    def __init__(
        self,
        store: LimitedTable,
        ledger: Ledger,
        now: Callable[[], dt.datetime],
        settled: SettledShards,
    ) -> None:
        super().__init__(store, ledger)
        self._now = now
        self._settled = settled

    def roll_up(self, tally: str) -> TallyTurn:
        """Bring a tally up to its slots (rule 12), and fold those that are idle (rule 11).

        Marks go after the total is written, each only if its slot is as read.

        Raises:
            StoreError: what is not done stays dirty, or unfolded.
            UnknownEntityError: no generation declares its aggregate; it stays dirty.
        """
        rolled_up = self.write_total(tally)
        if rolled_up is None:
            return TallyTurn(overtaken=True)
        dirty = [slot for slot in rolled_up.slots if "GSI2PK" in slot]
        for slot in dirty[:MAX_CLEARED_MARKS]:
            try_update(self._store, slots.clear_dirty_mark(slot))
        return TallyTurn(len(rolled_up.slots), self._fold(rolled_up))

    def _fold(self, rolled_up: RolledUpItems) -> int:
        """Fold the idle slots of what was read; gives how many."""
        now, total = self._now(), rolled_up.total
        idle = [slot for slot in rolled_up.slots if slots.is_idle(slot, now, self._settled)]
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


@dataclass(frozen=True)
class Rollup:
    """Rolls dirty tallies up on one table; ``threads`` of them at once.

    ``dirty_shards``: how many partitions marks are spread over now; it reads all ever used.
    ``get_settled_shards``: the stream shards whose slots need not be kept for 72 hours.
    """

    store: Table
    ledger: Ledger
    dirty_shards: int
    threads: int = 1
    now: Callable[[], dt.datetime] = utc_now
    get_settled_shards: Callable[[], SettledShards] = SettledShards

    @cached_property
    def _map(self) -> Mapper:
        return make_mapper(self.threads)

    def run(self, retry_budget: RetryBudget) -> RollupReport:
        """Roll up every tally that is found dirty, or as many as there is time for.

        Raises:
            StoreError: what is dirty cannot be read.
        """
        settled = self.get_settled_shards()
        self.store.budget.take_total()
        partitions = remember_shards(self.store, self.dirty_shards)
        dirty = find_dirty_tallies(self.store, partitions, self._is_disabled)
        queue = FairQueue(dirty.tallies.values())

        def take_turns(_thread: int) -> list[TallyTurn]:
            done: list[TallyTurn] = []
            while (tally := queue.take()) is not None:
                turn = self._take_turn(tally, retry_budget, settled)
                queue.settle(tally, turn.requests, is_done=turn.is_done)
                done.append(turn)
            return done

        threads = range(min(self.threads, len(dirty.tallies)))
        turns = [turn for done in self._map(take_turns, threads) for turn in done]
        read, written = self.store.budget.take_total()
        return RollupReport(
            rolled=sum(turn.is_done and not turn.failed and not turn.late for turn in turns),
            failed=sum(turn.failed for turn in turns),
            slots_read=sum(turn.slots_read for turn in turns),
            oldest_mark=dirty.oldest_mark,
            finished=dirty.is_complete
            and retry_budget.has_time_left
            and not any(turn.late for turn in turns),
            slots_folded=sum(turn.slots_folded for turn in turns),
            overtaken=sum(turn.overtaken for turn in turns),
            read_units=read,
            write_units=written,
            most_requests=max((turn.requests for turn in turns), default=0),
        )

    def _is_disabled(self, tally: str) -> bool:
        """Whether a tally is of a disabled instance: nothing counts in it, and it is purged."""
        if not self.ledger.disabled_instances or counter_items.is_counter_partition(tally):
            return False
        name = slots.TallyName.parse(tally)
        return (name.aggregate, name.since) in self.ledger.list_disabled(name.entity)

    def _take_turn(
        self, tally: DirtyTally, retry_budget: RetryBudget, settled: SettledShards
    ) -> TallyTurn:
        store = LimitedTable(self.store, retry_budget)
        try:
            if counter_items.is_counter_partition(tally.partition):
                turn = roll_up_counter(
                    store,
                    self.ledger,
                    tally,
                    self.now,
                    retry_budget,
                    self.dirty_shards,
                )
            else:
                turn = TallyRollup(store, self.ledger, self.now, settled).roll_up(tally.partition)
        except OutOfTimeError:
            turn = TallyTurn(late=True)
        except Exception:  # an error of one tally does not block the others
            _log.exception("tally not rolled up", extra={"tally": tally.partition})
            turn = TallyTurn(failed=True)
        return replace(turn, requests=store.request_count)
