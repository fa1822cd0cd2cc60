"""Runaway numbers are lowered, rows without an item become tombstones, and nothing else changes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from daicho.errors import UnavailableError
from daicho.rebuild.item_touch import ObstacleError
from daicho.rebuild.page_touch import PageTouch
from daicho.rebuild.repair import PageRepair, RepairStep, StreamLag
from daicho.rebuild.repair_job import RepairJob
from daicho.rebuild.repair_touch import (
    StreamNumbers,
    plan_repair_touch,
)
from daicho.rebuild.table_step import TableDependencies
from daicho.runtime.rate_limit import RateLimiter
from daicho.storage.attributes import Image, get_key
from daicho.storage.protocols import StreamShard
from daicho.storage.requests import to_key_image
from daicho.stream.claims import Claim, build_shard_key
from daicho.stream.heartbeat_watcher import HeartbeatRun, HeartbeatWatcher
from daicho.verify.item_rows import StreamState
from tests.support.invocation_time import Time
from tests.support.memory_stores import MemoryBucket, MemoryTable
from tests.support.sample_ledger import LEDGER, build_image
from tests.support.song_stream import NOW, build_seq_value, build_song

SONG = build_song("b")
ROW: Image = {
    "PK": {"S": f"{SONG['PK']['S'].replace('#Song', '#~Song')}#-"},
    "SK": {"S": "search#1#b#"},
    "GSI2PK": {"S": "list"},
    "GSI2SK": {"S": "place"},
    "seq": build_seq_value(5),
}


class Stream:
    """Two open shards, of which a closed one is the parent."""

    def list_shards(self) -> Sequence[StreamShard]:
        return (StreamShard("a", is_closed=True), StreamShard("b", "a"), StreamShard("c", "a"))


def build_shard(shard: str, low: int, announced: int, **more: Any) -> Image:
    return {
        **to_key_image(build_shard_key(shard)),
        "low_watermark": build_seq_value(low),
        "announced": build_seq_value(announced),
        **more,
    }


def open_table(*items: Image) -> MemoryTable:
    table = MemoryTable()
    shards = (build_shard("a", 2, 3), build_shard("b", 6, 8), build_shard("c", 7, 7))
    table.batch_write([*shards, *items])
    return table


def open_numbers(table: MemoryTable) -> StreamNumbers:
    stream: Any = Stream()
    store: Any = table
    return StreamNumbers(store, stream)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (build_seq_value(8), False),
        (build_seq_value(9), True),
        ({"N": "1"}, True),
        ({"S": "~"}, False),  # of a closed tenant
        (None, False),  # nothing is refused
    ],
)
def test_what_is_above_all_numbers_of_the_stream_is_runaway(number: Any, expected: bool) -> None:
    row = {name: ROW[name] for name in ROW if name != "seq"} | ({"seq": number} if number else {})
    assert bool(open_numbers(open_table()).select_runaway([row])) is expected


def test_numbers_that_are_newer_than_what_was_read_are_none() -> None:
    table = open_table()
    numbers = open_numbers(table)
    numbers.read()
    table.batch_write([build_shard("b", 9, 12)])
    assert numbers.select_runaway([{**ROW, "seq": build_seq_value(12)}]) == []
    claim = Claim(build_seq_value(15)["S"], "open", "Song", 1, NOW)
    table.batch_write([build_shard("b", 9, 12, **{claim.name: claim.value})])
    assert numbers.select_runaway([{**ROW, "seq": build_seq_value(15)}]) == []  # of a redrive
    assert numbers.lowest == build_seq_value(7)["S"]  # of the shards that are not finished


def test_the_lowest_number_of_a_verification_is_of_shards_that_are_not_finished_too() -> None:
    """Else a tombstone has a number so low that a late repeat of an old record passes it."""
    table, stream, failures = open_table(), Stream(), MemoryBucket()
    on: Any = SimpleNamespace(store=table, stream=stream, failures=failures)
    store: Any = table
    watcher = HeartbeatWatcher(store, stream, now=lambda: NOW)  # type: ignore[arg-type]
    progress = watcher.check(HeartbeatRun("run", ("Song",)))
    for heartbeats in (None, progress):
        assert StreamState.read(on, heartbeats).lowest == build_seq_value(6)["S"]


def test_nobody_knows_what_is_runaway_while_no_shard_is_known() -> None:
    assert open_numbers(MemoryTable()).select_runaway([]) == []
    with pytest.raises(UnavailableError):
        open_numbers(MemoryTable()).select_runaway([ROW])


def test_what_cannot_be_derived_or_marked_is_not_touched() -> None:
    numbers = open_numbers(open_table())
    values = {"id": "1", "name": "b", "artist": "x", "seconds": 1}
    bad: Image = {**build_image("Song", values, gen=2), "seconds": {"S": "three"}}
    for image, message in (
        (bad, "KeyError"),
        ({**SONG, "gen": {"N": "99"}}, "NewerGenerationError"),
        ({**SONG, "more": {"S": "x" * 409_590}}, "over 409600 bytes"),
    ):
        with pytest.raises(ObstacleError, match=message):
            plan_repair_touch(LEDGER, image, "run", numbers, NOW)


def build_page(table: Any, lag: StreamLag) -> PageTouch:
    return PageRepair(
        store=table,
        ledger=LEDGER,
        targets={"Song": 2},
        now=lambda: NOW,
        limiter=RateLimiter(None),
        retry_budget=Time().retry_budget,
        run_id="run",
        numbers=open_numbers(table),
        lag=lag,
    )


def test_rows_count_twice_and_all_of_it_again_while_the_stream_is_behind() -> None:
    extra = {**ROW, "SK": {"S": "search#1#x#"}}
    table = open_table(SONG, ROW, extra)
    units = build_page(table, StreamLag()).plan_touch(SONG).units
    assert units == 1 + 2 * 3  # its rows "" and "b", and the row to remove
    assert build_page(table, StreamLag(is_behind=True)).plan_touch(SONG).units == 2 * units


def test_an_item_that_changes_meanwhile_is_touched_once() -> None:
    edited: Image = {**SONG, "_dismissed": {"S": "void"}}
    table = open_table(edited)
    page = build_page(table, StreamLag())
    assert page.touch_item(SONG)
    assert not page.touch_item(SONG)
    table.delete(get_key(SONG))
    assert not page.touch_item(SONG)
    assert get_key(SONG) not in table.items


@pytest.mark.parametrize(("age", "expected"), [(20, False), (40, True)])
def test_a_low_time_that_is_old_halves_the_rate(age: int, expected: bool) -> None:
    low_time = (NOW - dt.timedelta(seconds=age)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    times = {"low_time": {"S": low_time}}
    store: Any = MemoryTable()
    store.batch_write([build_shard("b", 6, 8, **times), build_shard("c", 7, 7, **times)])
    stream: Any = Stream()
    dependencies = TableDependencies(
        store=store,
        now=lambda: NOW,
        settle=60,
        stream=stream,
        failures=store,
        ledger=LEDGER,
    )
    job = RepairJob("one", {"Song": 2}, "2026-11-21T00:00:00.000000Z", run="one")
    step = RepairStep(dependencies, job, Time().retry_budget)
    step.measure_lag()
    assert step.lag.is_behind is expected
