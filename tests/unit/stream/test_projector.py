"""The projector's writes, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import compress
from operator import not_
from typing import Any

from daicho.errors import ThrottledError, UnavailableError
from daicho.layout.backfill_state import RECORDED_KEY, BackfillState, build_backfill_key
from daicho.layout.marks import mark_dismissed
from daicho.plan import Ledger
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.requests import InsertOutcome, ItemPage, Query, to_key_image
from daicho.stream.claims import ShardClaims, build_shard_key
from daicho.stream.projector import Projector
from daicho.stream.records import Batch
from tests.support.invocation_time import Time
from tests.support.memory_stores import MemoryBucket, MemoryTable
from tests.support.sample_ledger import LEDGER, OLD_LEDGER, build_image
from tests.support.song_stream import COUNT, NOW, build_seq_value, build_song
from tests.support.stream_events import Change, build_batch


def project(table: Any, given: Batch, ledger: Ledger = LEDGER) -> str | None:
    projector = Projector(table, MemoryBucket(), ledger, dirty_shards=1, now=lambda: NOW)
    return projector.project(given, Time().retry_budget)


def read_derived_items(table: MemoryTable) -> dict[str, Image]:
    return {key.sk: item for key, item in table.items.items() if "~" in key.pk}


def test_what_is_derived_carries_number_and_place_and_nothing_else() -> None:
    table = MemoryTable()
    assert project(table, build_batch((None, build_song("b")))) is None
    assert set(read_derived_items(table)) == {"search#1##", "search#1#b#"}
    for item in read_derived_items(table).values():
        assert set(item) == {"PK", "SK", "GSI2PK", "GSI2SK", "seq"}
        assert item["seq"] == build_seq_value(1)


class Failing(MemoryTable):
    """Fails each write that a test points out."""

    def __init__(self, fails: Callable[[str], bool]) -> None:
        super().__init__()
        self._fails = fails

    def put(self, item: Image, **named: Any) -> None:
        if self._fails(item["SK"]["S"]):
            raise ThrottledError(item["SK"]["S"])
        super().put(item, **named)

    def insert_batch(self, items: Sequence[Image]) -> list[InsertOutcome]:
        throttled = [self._fails(item["SK"]["S"]) for item in items]
        inserted = iter(super().insert_batch([*compress(items, map(not_, throttled))]))
        return ["throttled" if is_throttled else next(inserted) for is_throttled in throttled]


def test_the_lowest_record_of_the_item_is_reported_and_the_rest_is_done() -> None:
    table = Failing(lambda sk: sk == "search#1#ac#")
    changes = [
        (None, build_song("ab")),
        (None, build_song("b", "2")),
        (build_song("ab"), build_song("ac")),
    ]
    assert project(table, build_batch(*changes)) == "1"
    assert "search#1#b#" in read_derived_items(table)
    assert table.items[COUNT]["items"] == {"N": "2"}


def test_a_newer_generation_is_reported_when_little_time_is_left() -> None:
    table, time = MemoryTable(), Time()
    newer = build_image("Song", {"id": "2", "name": "b", "artist": "x"}, gen=2)
    projector = Projector(table, MemoryBucket(), OLD_LEDGER, dirty_shards=1)
    given = build_batch((None, build_song("b")), (None, newer))
    assert projector.project(given, time.retry_budget) == "2"
    assert time.left == 20
    assert table.items[COUNT]["items"] == {"N": "1"}


def read_oldest(table: MemoryTable) -> int:
    return BackfillState.parse("Song", table.items[build_backfill_key("Song")]).oldest


def store_older_song(table: MemoryTable) -> Image:
    """A song of the first generation, of which no item should exist any more."""
    song = build_song("b")
    table.items[get_key(song)] = song
    table.batch_write([BackfillState("Song", 2, 2).to_item()])
    return song


def test_an_item_of_an_older_generation_is_noted_before_a_batch_stops() -> None:
    table = MemoryTable()
    song = store_older_song(table)
    newer = {**build_song("b", "2"), "gen": {"N": "3"}}
    assert project(table, build_batch((None, newer), (None, song))) == "1"
    assert read_oldest(table) == 2  # its record was not handled
    assert project(table, build_batch((None, song), (None, newer))) == "2"
    assert read_oldest(table) == 1


def test_only_what_was_released_stops_a_shard() -> None:
    song, other = build_song("b"), {**build_song("b", "2"), "type": {"S": "Other"}}
    unknown = {**build_song("b", "3"), "gen": {"N": "9"}}
    batch = build_batch((None, song), (song, other), (None, unknown))
    released = [BackfillState("Song", 1, 2).to_item(), to_key_image(RECORDED_KEY)]
    for more, failed, claimed in (
        ([], "2", 0),  # a stage without a record of its releases
        (released, None, 1),
        ([*released, BackfillState("Other", 1, 1).to_item()], "2", 0),
        ([*released[1:], BackfillState("Song", 1, 9).to_item()], "3", 0),
    ):
        table = MemoryTable()
        table.batch_write(more)
        assert project(table, batch) == failed
        shard = ShardClaims.from_item(batch.shard, table.items.get(build_shard_key(batch.shard)))
        assert shard.open == claimed
        if failed != "2":
            assert all("GSI2PK" not in item for item in read_derived_items(table).values())


def test_an_unknown_generation_waits_while_the_table_does_not_answer() -> None:
    class Unavailable(MemoryTable):
        def get(self, key: ItemKey, *, consistent: bool = False, **_: Any) -> Image | None:
            if key == RECORDED_KEY:
                raise UnavailableError("no answer")
            return super().get(key, consistent=consistent)

    unknown = {**build_song("b", "3"), "gen": {"N": "9"}}
    assert project(Unavailable(), build_batch((None, unknown))) == "1"


def test_an_item_is_noted_that_derives_nothing_new_or_cannot_be_computed() -> None:
    for old, more in ((build_song("b"), {}), (None, {"name": {"N": "1"}})):
        table = MemoryTable()
        song = {**store_older_song(table), **more}
        assert project(table, build_batch((old, song))) is None
        assert read_oldest(table) == 1


def repair(table: MemoryTable, *changes: Change, first: int = 7) -> dict[str, Image]:
    """Project changes of which one is a repair; returns the rows and tombstones afterwards."""
    assert project(table, build_batch(*changes, first=first)) is None
    return read_derived_items(table)


def touch_for_repair(song: Image) -> Change:
    return song, {**song, "_repair": {"S": "run"}}


def test_a_repair_writes_all_that_the_item_derives_and_removes_the_rest() -> None:
    table = MemoryTable()
    project(table, build_batch((None, build_song("b"))))
    exact = read_derived_items(table)
    row = exact["search#1#b#"]
    extra = ItemKey(row["PK"]["S"], "search#1#x#")
    other = ItemKey(extra.pk.replace("#1#", "#2#"), "search#1#y#")
    del table.items[get_key(exact["search#1##"])]
    table.items[get_key(row)] = {**row, "GSI2SK": {"S": "elsewhere"}}
    for key in (extra, other):
        table.items[key] = {**row, **to_key_image(key)}
    rows = repair(table, touch_for_repair(build_song("b")))
    assert rows.pop("search#1#y#")["seq"] == build_seq_value(1)  # of another item
    assert "GSI2PK" not in rows["search#1#x#"]
    assert rows.pop("search#1#x#")["seq"] == build_seq_value(7)
    assert rows == {sk: {**item, "seq": build_seq_value(7)} for sk, item in exact.items()}
    assert table.items[COUNT]["items"] == {"N": "1"}


def test_a_repair_of_an_item_that_derives_nothing_is_announced() -> None:
    table = MemoryTable()
    project(table, build_batch((None, build_song("b"))))
    touched = mark_dismissed({**build_song("b"), "_repair": {"S": "run"}})
    rows = repair(table, (mark_dismissed(build_song("b")), touched))
    assert [item["seq"] for item in rows.values()] == [build_seq_value(7)] * 2
    shard = ShardClaims.from_item("s", table.items[build_shard_key("s")])
    assert shard.announced == build_seq_value(7)["S"]


class Unreadable(MemoryTable):
    def query_pages(self, query: Query) -> Iterator[ItemPage]:
        raise UnavailableError(query.partition)


def test_nothing_is_written_while_the_derived_items_cannot_be_read() -> None:
    table = Unreadable()
    other = (None, build_song("d", "2"))
    assert project(table, build_batch(other, touch_for_repair(build_song("b")))) == "1"
    assert not read_derived_items(table)


def test_a_repair_is_no_sign_of_code_that_writes_an_older_generation() -> None:
    table = MemoryTable()
    song = store_older_song(table)
    repair(table, touch_for_repair(song))
    assert read_oldest(table) == 2
    repair(table, (song, {**song, "version": {"N": "2"}}), first=8)
    assert read_oldest(table) == 1
