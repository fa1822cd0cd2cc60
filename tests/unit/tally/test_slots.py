"""Idle slots go into the base (rule 11). What happens meanwhile: tests/delivery/test_tallies.py."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from daicho.storage.requests import Write
from daicho.tally import dirty_shards, reader, slots, total_items
from daicho.tally.rollup import Rollup, RollupReport
from tests.support.memory_stores import MemoryTable
from tests.support.sample_ledger import LEDGER
from tests.support.tally_slots import AMPLE, COUNT, NOW, count, live

LATER = NOW + slots.IDLE_SLOT_AGE
OLD, NEW = slots.build_slot_key(COUNT, "old"), slots.build_slot_key(COUNT, "new")
KEPT = slots.build_kept_key(COUNT, "old")
TOTAL = total_items.build_total_key(COUNT)


def rollup(table: MemoryTable, now: dt.datetime = LATER) -> RollupReport:
    return Rollup(table, LEDGER, dirty_shards=4, now=lambda: now).run(AMPLE)


def rolled_up(table: MemoryTable) -> int:
    return reader.read_rolled_up_amount(table, COUNT).items


def idle(table: MemoryTable) -> None:
    """A slot and a kept one that are idle at LATER, and one that was just counted in."""
    count(table, OLD, 5, 1, NOW)
    count(table, KEPT, 7, 2, NOW)
    rollup(table, NOW)
    count(table, NEW, 1, 3, LATER)


def test_a_slot_that_does_not_say_when_it_was_counted_in_stays() -> None:
    table = MemoryTable()
    idle(table)
    table.items[OLD] = {name: value for name, value in table.items[OLD].items() if name != "at"}
    rollup(table)
    assert set(table.items) == {OLD, NEW, TOTAL, dirty_shards.MAX_REMEMBERED}


def test_what_there_are_many_of_goes_in_several_transactions() -> None:
    class Counting(MemoryTable):
        sizes: tuple[int, ...] = ()

        def transact(self, writes: Sequence[Write]) -> None:
            self.sizes += (len(writes),)
            super().transact(writes)

    table = Counting()
    for shard in range(150):
        count(table, slots.build_slot_key(COUNT, f"s{shard:03d}"), 1, 1, NOW)
    rollup(table, NOW)
    count(table, NEW, 1, 2, LATER)
    assert rollup(table).slots_folded == 150
    assert (table.sizes, rolled_up(table), live(table)) == ((100, 52), 151, 151)


def test_the_part_that_a_rebuild_fills_is_of_no_stream_shard() -> None:
    settled = slots.SettledShards({"old"}, dt.timedelta())
    filled = slots.build_kept_key(COUNT, slots.FILLED_SHARD)
    table = MemoryTable()
    count(table, filled, 5, 1, NOW)
    rollup(table, NOW)
    assert not slots.is_idle(table.items[filled], NOW, settled)
    assert slots.is_idle(table.items[filled], LATER, settled)
