"""The rollup of tallies: totals, rankings and marks, over a table in memory."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from daicho.derive.contributions import Amount
from daicho.errors import ThrottledError
from daicho.plan import AggregatePlan, Decisions, Part, append_generations
from daicho.runtime.metrics import DAMAGE_METRIC
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.protocols import apply_update
from daicho.tally import reader, slots, total_items
from daicho.tally.rollup import Rollup, RollupReport
from daicho.tally.total_writer import TotalWriter
from tests.support.memory_stores import MemoryTable
from tests.support.sample_ledger import LEDGER, build_tally_key
from tests.support.sample_members import PLAIN, number
from tests.support.tally_slots import AMPLE, COUNT, NOW, count

CHART = build_tally_key("Download", "chart", 1, "2026-11", "1")


def rollup(table: Any) -> RollupReport:
    return Rollup(table, LEDGER, dirty_shards=4, now=lambda: NOW).run(AMPLE)


def total(table: MemoryTable, name: str) -> Image:
    return table.items[total_items.build_total_key(name)]


def dirty(table: MemoryTable) -> list[ItemKey]:
    return [key for key, item in table.items.items() if "GSI2PK" in item]


def test_a_ranked_total_has_its_place_highest_first_and_ties_by_member() -> None:
    table = MemoryTable()
    for song, amount in (("b", 2), ("a", 2), ("c", 10)):
        name = build_tally_key("Download", "chart", 1, "2026-11", song)
        count(table, slots.build_slot_key(name, "s"), amount)
    rollup(table)
    placed = [item for item in table.items.values() if "GSI3PK" in item]
    assert {item["GSI3PK"]["S"] for item in placed} == {"t#Download.chart#1#2026-11"}
    placed.sort(key=lambda item: str(item["GSI3SK"]["S"]))
    assert [keys.parse(item["PK"]["S"])[-1] for item in placed] == ["c", "a", "b"]


def test_what_has_no_members_left_is_not_ranked() -> None:
    table = MemoryTable()
    key = slots.build_slot_key(CHART, "s")
    count(table, key, 1, 1)
    rollup(table)
    assert "GSI3PK" in total(table, CHART)
    count(table, key, -1, 2)
    rollup(table)
    assert "GSI3PK" not in total(table, CHART)
    assert reader.read_rolled_up_amount(table, CHART) == Amount()


def test_what_is_not_ranked_has_no_place() -> None:
    table = MemoryTable()
    count(table, slots.build_slot_key(COUNT, "s"), 1)
    rollup(table)
    assert "GSI3PK" not in total(table, COUNT)


def test_a_slot_that_is_missing_is_told_and_a_folded_one_is_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(table: MemoryTable, now: dt.datetime) -> bool:
        Rollup(table, LEDGER, dirty_shards=4, now=lambda: now).run(AMPLE)
        return DAMAGE_METRIC in capsys.readouterr().out

    table = MemoryTable()
    for shard in ("a", "b", "c"):
        count(table, slots.build_slot_key(COUNT, shard), 1)
    assert not run(table, NOW)
    for shard in ("d", "e"):
        count(table, slots.build_slot_key(COUNT, shard), 1)
    assert not run(table, NOW + dt.timedelta(hours=73))  # folds those that were not dirty
    assert total(table, COUNT)["base_slots"] == {"N": "2"}
    assert reader.read_live_amount(table, COUNT).items == 5
    del table.items[slots.build_slot_key(COUNT, "d")]
    count(table, slots.build_slot_key(COUNT, "e"), 1, 2)
    assert run(table, NOW)
    assert not run(table, NOW)


def test_a_total_that_nothing_announced_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    table, key = MemoryTable(), slots.build_slot_key(CHART, "a")
    count(table, key, 1)
    rollup(table)
    table.items[total_items.build_total_key(CHART)] = {**total(table, CHART), "items": {"N": "9"}}
    writer = TotalWriter(table, LEDGER)
    assert writer.write_total(CHART) is not None
    assert DAMAGE_METRIC in capsys.readouterr().out
    assert writer.write_total(CHART) is not None
    assert DAMAGE_METRIC not in capsys.readouterr().out


def test_one_tally_that_fails_stops_no_other() -> None:
    class Throttling(MemoryTable):
        def get(self, key: ItemKey, *, consistent: bool = False, **_: Any) -> Image | None:
            if key.pk == CHART:
                raise ThrottledError("hot")
            return super().get(key, consistent=consistent)

    table = Throttling()
    unknown = build_tally_key("Song", "gone", 1)
    for name in (CHART, unknown, COUNT):
        count(table, slots.build_slot_key(name, "s"), 1)
    report = rollup(table)
    assert (report.rolled, report.failed) == (1, 2)
    assert reader.read_rolled_up_amount(table, COUNT).items == 1
    assert {key.pk for key in dirty(table)} == {CHART, unknown}


def test_what_there_is_no_time_for_stays_dirty() -> None:
    table = MemoryTable()
    count(table, slots.build_slot_key(COUNT, "s"), 1)
    report = Rollup(table, LEDGER, dirty_shards=4).run(RetryBudget(lambda: 1.0, reserve=2))
    assert not report.finished
    assert len(dirty(table)) == 1


def test_the_age_of_the_oldest_mark() -> None:
    table = MemoryTable()
    count(table, slots.build_slot_key(COUNT, "s"), 1, minutes=-5)
    count(table, slots.build_slot_key(CHART, "s"), 1, minutes=-1)
    count(table, slots.build_slot_key(COUNT, "s"), 1, 2)  # the mark stays the first one's
    assert rollup(table).age_of_oldest_mark(NOW) == 300
    assert RollupReport().age_of_oldest_mark(NOW) == 0


def test_a_disabled_instance_is_not_rolled_up_and_its_marks_raise_no_alarm() -> None:
    count_teams = AggregatePlan("count", 0, "count", None, (Part("team"),), ())
    counted = replace(PLAIN, aggregates=(count_teams,))
    disabled = Decisions(disabled=frozenset({"Member.count"}))
    ledger = append_generations([PLAIN], number(counted, PLAIN), disabled)
    table = MemoryTable()
    tally = keys.render("t", "+Member.count", "1", "a")
    count(table, slots.build_slot_key(tally, "s"), 1, minutes=-5)
    for known, rolled in ((ledger, 0), (number(counted, PLAIN), 1)):
        report = Rollup(table, known, dirty_shards=4, now=lambda: NOW).run(AMPLE)
        assert (report.rolled, report.failed, report.oldest_mark is None) == (rolled, 0, not rolled)


def test_threads_roll_up_what_one_does() -> None:
    table = MemoryTable()
    for song in "abcdefgh":
        name = build_tally_key("Download", "chart", 1, "2026-11", song)
        count(table, slots.build_slot_key(name, "s"), 1)
    assert Rollup(table, LEDGER, dirty_shards=4, threads=4).run(AMPLE).rolled == 8


def many(table: MemoryTable, shards: int, seq: str) -> None:
    """Tallies whose marks stand in every one of so many partitions."""
    for song in range(20 * shards):
        name = build_tally_key("Download", "chart", 1, "2026-11", str(song))
        one = Amount(1, Decimal(1))
        key = slots.build_slot_key(name, "s")
        apply_update(table, slots.add_delta(key, one, seq, seq, dirty_shards=shards, now=NOW))
    marked = {item["GSI2PK"]["S"] for item in table.items.values() if "GSI2PK" in item}
    assert marked == {slots.render_dirty_partition(number) for number in range(shards)}


def rolled_up_by(table: MemoryTable, dirty_shards: int) -> int:
    return Rollup(table, LEDGER, dirty_shards=dirty_shards, now=lambda: NOW).run(AMPLE).rolled


def test_marks_are_found_after_they_are_spread_over_fewer_partitions() -> None:
    table = MemoryTable()
    assert rolled_up_by(table, 8) == 0
    many(table, 8, "001")
    assert rolled_up_by(table, 2) == 160
    assert dirty(table) == []
    many(table, 8, "002")  # a function of the old deployment, still warm
    assert rolled_up_by(table, 2) == 160


def test_marks_are_found_after_they_are_spread_over_more_partitions() -> None:
    table = MemoryTable()
    assert rolled_up_by(table, 2) == 0
    many(table, 8, "001")
    assert rolled_up_by(table, 8) == 160
    many(table, 2, "002")
    assert rolled_up_by(table, 8) == 40


def test_the_settled_shards_are_listed_once_a_run() -> None:
    table = MemoryTable()
    many(table, 1, "001")
    readings: list[None] = []

    def get_settled() -> slots.SettledShards:
        readings.append(None)
        return slots.SettledShards()

    rollup = Rollup(table, LEDGER, dirty_shards=1, now=lambda: NOW, get_settled_shards=get_settled)
    assert rollup.run(AMPLE).rolled == 20
    assert len(readings) == 1
