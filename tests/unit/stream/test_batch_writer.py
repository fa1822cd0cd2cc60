"""Writing a folded batch: batches of inserts, the fenced put behind them, and their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from daicho.derive.contributions import Amount
from daicho.derive.derived_items import IndexRow
from daicho.errors import RefusedError, ThrottledError, UnansweredError
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.requests import InsertOutcome
from daicho.stream.batch_fold import (
    DerivedWrite,
    SlotDelta,
    SlotWrite,
    sum_deltas,
)
from daicho.stream.batch_writer import FEW_WRITES, BatchWriter
from daicho.tally import slots
from tests.support.invocation_time import Time
from tests.support.memory_stores import MemoryTable
from tests.support.song_stream import NOW

ROW = IndexRow("list", "1")


class RecordingTable(MemoryTable):
    """Notes the sort keys of each write, and fails batches as a test wants it."""

    def __init__(self, failure: Exception | None = None, *, is_done_first: bool = False) -> None:
        super().__init__()
        self.requests: list[tuple[str, ...]] = []
        self._failure, self._is_done_first = failure, is_done_first

    def put(self, item: Image, **named: Any) -> Image | None:
        self.requests.append((item["SK"]["S"],))
        return super().put(item, **named)

    def insert_batch(self, items: Sequence[Image]) -> list[InsertOutcome]:
        self.requests.append(tuple(item["SK"]["S"] for item in items))
        failure, self._failure = self._failure, None
        if failure is not None and not self._is_done_first:
            raise failure
        outcomes = super().insert_batch(items)
        if failure is not None:
            raise failure
        return outcomes


def build_write(sk: str, seq: str = "5", row: IndexRow | None = ROW, **named: Any) -> DerivedWrite:
    return DerivedWrite(ItemKey("base", sk), row, seq, seq, **{"was_derived": False, **named})


def write_all(
    table: MemoryTable, writes: Sequence[DerivedWrite], retry_budget: RetryBudget | None = None
) -> Sequence[Any]:
    writer = BatchWriter(table, dirty_shards=1, now=lambda: NOW)
    return writer.write_all(writes, retry_budget or Time().retry_budget)


def read_numbers(table: MemoryTable) -> dict[str, str]:
    return {key.sk: item["seq"]["S"] for key, item in table.items.items()}


def test_new_items_are_inserted_25_in_one_request() -> None:
    table = RecordingTable()
    assert write_all(table, [build_write(f"{n:02}") for n in range(51)]) == ()
    assert [len(request) for request in table.requests] == [25, 25, 1]
    assert len(table.items) == 51


@pytest.mark.parametrize(("existing", "final"), [("4", "5"), ("5", "5"), ("6", "6")])
def test_an_item_that_exists_is_decided_by_the_fenced_put(existing: str, final: str) -> None:
    table = RecordingTable()
    write_all(table, [build_write("a", existing)])
    assert write_all(table, [build_write("a"), build_write("b")]) == ()
    assert table.requests[1:] == [("a", "b"), ("a",)]
    assert read_numbers(table) == {"a": final, "b": "5"}


def test_a_tombstone_gives_way_and_loses_its_ttl() -> None:
    table = MemoryTable()
    write_all(table, [build_write("a", "4", row=None), build_write("b", "4", row=None)])
    assert all("ttl" in item and "GSI2PK" not in item for item in table.items.values())
    write_all(table, [build_write("a"), build_write("b")])
    assert not any("ttl" in item for item in table.items.values())


@pytest.mark.parametrize("is_done_first", [False, True])
@pytest.mark.parametrize("failure", [UnansweredError("lost"), RefusedError("no statement")])
def test_items_of_a_batch_that_failed_are_put(failure: Exception, is_done_first: bool) -> None:
    table = RecordingTable(failure, is_done_first=is_done_first)
    assert write_all(table, [build_write("a"), build_write("b")]) == ()
    assert table.requests == [("a", "b"), ("a",), ("b",)]
    assert read_numbers(table) == {"a": "5", "b": "5"}


def test_a_throttled_batch_is_sent_again() -> None:
    table = RecordingTable(ThrottledError("slow down"))
    assert write_all(table, [build_write("a"), build_write("b")]) == ()
    assert table.requests == [("a", "b"), ("a", "b")]


def test_rows_are_put_before_any_is_removed() -> None:
    table = RecordingTable()
    write_all(table, [build_write("new", "4"), build_write("old", "4")])
    table.requests.clear()
    writes = [build_write("old", row=None, was_derived=True), build_write("new")]
    writes += [build_write("newer")]
    assert write_all(table, writes) == ()
    # The put of "new", which the insert found to exist, is also before the removal.
    assert table.requests == [("new", "newer"), ("new",), ("old",)]


# --- Amounts with more parts than one update takes --------------------------------------------

SLOT = slots.build_slot_key("t#+Sale.by_day#1#2026-10", "s")
PARTS_OF_A_RECORD = 90


class CountingTable(MemoryTable):
    """Notes the numbers of each update: the first record, the last one, and how many parts."""

    def __init__(self, *, throttled: int = 0) -> None:
        super().__init__()
        self.updates: list[tuple[str, str, int]] = []
        self._throttled = throttled

    def update(self, key: ItemKey, update: str, **named: Any) -> Image | None:
        values = named["values"]
        parts = sum(name.startswith(":f") and name[2:].isdigit() for name in values)
        self.updates.append((values[":first"]["S"], values[":last"]["S"], parts))
        if len(self.updates) == self._throttled:
            raise ThrottledError("hot")
        return super().update(key, update, **named)


def build_slot_write(*numbers: int) -> SlotWrite:
    """A record each, with parts of its own."""
    return SlotWrite(
        SLOT,
        tuple(
            SlotDelta(
                str(number),
                Amount(
                    1,
                    Decimal(number),
                    tuple((f"{number}:{n:02}", Decimal(n + 1)) for n in range(PARTS_OF_A_RECORD)),
                ),
            )
            for number in numbers
        ),
    )


def test_a_batch_with_too_many_parts_is_counted_by_several_updates() -> None:
    table, write = CountingTable(), build_slot_write(1, 2, 3, 4, 5)
    assert write_counts(table, write) == ()
    assert table.updates == [("1", "2", 180), ("3", "4", 180), ("5", "5", 90)]
    assert slots.read_amount(table.items[SLOT]) == sum_deltas(write.deltas)
    write_counts(table, write)  # a repeat counts nothing
    assert slots.read_amount(table.items[SLOT]) == sum_deltas(write.deltas)


@pytest.mark.parametrize("throttled", [1, 2, 3])
def test_an_update_that_fails_is_repeated_and_those_before_it_count_once(throttled: int) -> None:
    table, write = CountingTable(throttled=throttled), build_slot_write(1, 2, 3, 4, 5)
    assert write_counts(table, write) == ()
    assert slots.read_amount(table.items[SLOT]) == sum_deltas(write.deltas)
    assert table.items[SLOT]["seq"] == {"S": "5"}


def test_a_batch_whose_first_records_are_counted_counts_the_others() -> None:
    table = CountingTable()
    write_counts(table, build_slot_write(1, 2, 3))
    write = build_slot_write(1, 2, 3, 4, 5, 6)
    write_counts(table, write)
    assert slots.read_amount(table.items[SLOT]) == sum_deltas(write.deltas)


def test_records_with_the_same_parts_are_one_update() -> None:
    amount = build_slot_write(1).deltas[0].amount
    parts = tuple(SlotDelta(str(number), amount) for number in range(1, 9))
    table = CountingTable()
    write_counts(table, SlotWrite(SLOT, parts))
    assert table.updates == [("1", "8", 90)]


def test_a_batch_is_left_when_little_time_remains_between_two_updates() -> None:
    """Otherwise many slow updates of one slot would end in Lambda's timeout."""
    left = iter((100.0, 100.0, 100.0, 1.0, 1.0, 1.0))
    table, write = CountingTable(), build_slot_write(1, 2, 3, 4, 5)
    writer = BatchWriter(table, dirty_shards=1, now=lambda: NOW)
    assert writer.write_all([write], RetryBudget(lambda: next(left), reserve=20)) == (write,)
    assert [last for _, last, _ in table.updates] == ["2", "4"]
    write_counts(table, write)
    assert slots.read_amount(table.items[SLOT]) == sum_deltas(write.deltas)


def write_counts(table: MemoryTable, write: SlotWrite) -> Sequence[Any]:
    writer = BatchWriter(table, dirty_shards=1, now=lambda: NOW)
    return writer.write_all([write], Time().retry_budget)


def test_tenants_with_few_writes_are_written_before_one_with_many() -> None:
    table = RecordingTable()
    many = [build_write(f"m{n:03}") for n in range(FEW_WRITES + 1)]
    moved = [build_write("new"), build_write("old", row=None, was_derived=True)]
    few = [replace(write, key=ItemKey("few#~a", write.key.sk)) for write in moved]
    large = [replace(write, key=ItemKey("many#~a", write.key.sk)) for write in many]
    assert write_all(table, [*large, *few]) == ()
    assert table.requests[:2] == [("new",), ("old",)]
    assert len(table.items) == len(few) + len(large)


def test_what_is_left_of_a_large_share_is_returned_when_the_time_is_used_up() -> None:
    time = Time()
    large = [build_write(f"m{n:03}") for n in range(FEW_WRITES + 1)]
    writes = [replace(write, key=ItemKey("many#~a", write.key.sk)) for write in large]
    few = replace(build_write("few"), key=ItemKey("few#~a", "few"))

    class SlowTable(RecordingTable):
        def put(self, item: Image, **named: Any) -> Image | None:
            time.left = 0.0
            return super().put(item, **named)

    table = SlowTable()
    assert set(write_all(table, [*writes, few], time.retry_budget)) == set(writes)
