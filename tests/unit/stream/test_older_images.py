"""Items of an older generation in the stream: what is noted of them, and what is read for it."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Sequence
from typing import Any

import pytest

from daicho.errors import ThrottledError
from daicho.layout.backfill_state import BackfillState, build_backfill_key
from daicho.plan import Generation, Ledger
from daicho.runtime.retry import make_mapper
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.requests import Write
from daicho.stream.older_images import NOTED_S, READS_AT_ONCE, OlderImages
from tests.support.invocation_time import Time
from tests.support.memory_stores import MemoryTable
from tests.support.sample_ledger import SONG_1, SONG_2, build_image
from tests.support.stream_events import build_batch

THREE = Ledger({"Song": (Generation(1, SONG_1), Generation(2, SONG_1), Generation(3, SONG_2))})


def song(generation: int, identity: str = "1") -> Image:
    values = {"id": identity, "name": "b", "artist": "x", "seconds": 1}
    return build_image("Song", values, gen=generation, ledger=THREE)


class CountingTable(MemoryTable):
    """Counts the reads, and fails as often as a test says."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[ItemKey] = []
        self.failures = 0

    def get(self, key: ItemKey, *, consistent: bool = False, **_: Any) -> Image | None:
        assert consistent
        self.reads.append(key)
        if self.failures > 0:
            self.failures -= 1
            raise ThrottledError("no")
        return super().get(key)

    def update(self, key: ItemKey, update: str, **named: Any) -> Image | None:
        if self.failures < 0:
            self.failures += 1
            raise ThrottledError("no")
        return super().update(key, update, **named)


class House:
    """A table with a backfill item, and a clock."""

    def __init__(self, oldest: int = 3, threads: int = 1) -> None:
        self.now = dt.datetime(2026, 11, 28, tzinfo=dt.UTC)
        self.table, self.time = CountingTable(), Time()
        self.table.batch_write([BackfillState("Song", oldest, 3).to_item()])
        self.images = OlderImages(self.table, THREE, lambda: self.now, make_mapper(threads))

    def store(self, *items: Image) -> None:
        for item in items:
            self.table.items[get_key(item)] = item

    def note(self, *images: Image | None, old: Image | None = None) -> str | None:
        """Note records of new images; the number of the first one that is not noted."""
        batch = build_batch(*((old or song(3), image) for image in images))
        undone = self.images.note(batch.records, self.time.retry_budget)
        return undone.number if undone else None

    @property
    def state(self) -> BackfillState:
        return BackfillState.parse("Song", self.table.items[build_backfill_key("Song")])


def test_an_older_item_lowers_the_oldest_generation_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    house = House()
    house.store(song(2))
    with caplog.at_level(logging.ERROR):
        assert house.note(song(3), song(2)) is None
    assert (house.state.oldest, house.state.older_seen) == (2, 1)
    assert house.state.older_found == "2026-11-28T00:00:00.000000Z"
    (record,) = caplog.records
    logged = vars(record)
    assert (logged["entity"], logged["generation"]) == ("Song", 2)
    assert logged["item"] == ["t#Song#1", "-"]


def test_while_a_rebuild_runs_it_is_counted_and_nothing_is_lowered() -> None:
    house = House(oldest=1)
    house.store(song(2))
    house.note(song(2))
    assert (house.state.oldest, house.state.older_seen, house.state.older_found) == (1, 1, "")


def test_each_item_is_read_once_the_newest_first_until_one_is_older() -> None:
    house = House()
    house.store(song(1, "1"), song(1, "2"), song(3, "3"))
    house.note(song(1, "1"), song(1, "2"), song(1, "3"), song(1, "3"))
    assert house.table.reads == [get_key(song(1, "3")), get_key(song(1, "2"))]


def test_threads_read_all_items_of_a_large_batch() -> None:
    house, numbers = House(threads=4), range(READS_AT_ONCE + 20)
    house.store(song(1, "0"), *(song(3, str(number)) for number in numbers if number))
    assert house.note(*(song(1, str(number)) for number in numbers)) is None
    assert len(house.table.reads) == len(numbers)
    assert house.state.oldest == 1


def test_it_is_not_repeated_within_seconds_but_for_another_generation() -> None:
    house = House()
    house.store(song(2, "2"), song(1, "1"))
    house.note(song(2, "2"))
    for passed, count in ((0.0, 1), (NOTED_S - 0.1, 1), (0.1, 2)):
        house.now += dt.timedelta(seconds=passed)
        house.note(song(2, "2"))
        assert house.state.older_seen == count
    house.note(song(1, "1"))
    assert (house.state.older_seen, house.state.oldest) == (3, 1)


def store_before_lowering(house: House, monkeypatch: pytest.MonkeyPatch, *items: Image) -> None:
    """Store items just before the transaction that lowers the oldest generation."""
    transact = house.table.transact

    def store_first(writes: Sequence[Write]) -> None:
        house.store(*items)
        transact(writes)

    monkeypatch.setattr(house.table, "transact", store_first)


def test_what_another_has_lowered_further_meanwhile_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house = House()
    store_before_lowering(house, monkeypatch, BackfillState("Song", 1, 3).to_item())
    house.store(song(2))
    assert house.note(song(2)) is None
    assert house.state.oldest == 1


def test_an_item_that_is_touched_after_it_was_read_lowers_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Soak, `lifecycle superseded 95107283`: a rebuild became complete after the read."""
    house = House()
    store_before_lowering(house, monkeypatch, song(3))
    house.store(song(2))
    assert house.note(song(2)) is None
    assert house.state.oldest == 3
    monkeypatch.undo()
    house.store(song(2), song(2, "2"))
    assert house.note(song(2, "2")) is None  # it is not noted as the first one was
    assert house.state.oldest == 2


def test_without_a_backfill_item_nothing_is_written() -> None:
    house = House()
    del house.table.items[build_backfill_key("Song")]
    house.store(song(1))
    assert house.note(song(1)) is None
    assert list(house.table.items) == [get_key(song(1))]


@pytest.mark.parametrize("failures", [3, -3])
def test_requests_that_fail_are_repeated(failures: int) -> None:
    house = House()
    house.store(song(1))
    house.table.failures = failures
    assert house.note(song(1)) is None
    assert (house.state.oldest, house.state.older_seen) == (1, 1)


@pytest.mark.parametrize("failures", [1_000, -1_000])
def test_the_first_record_that_cannot_be_noted_is_returned(failures: int) -> None:
    house = House()
    house.store(song(1), song(2, "2"))
    house.table.failures = failures
    assert house.note(song(3), song(1), song(2, "2"), song(1)) == "2"
    assert house.time.left >= 20  # what is kept for the end of the invocation
    house.table.failures = 0
    assert house.note(song(1)) == "1"  # no time is left
    house.time.left = 300.0
    assert house.note(song(3), song(1), song(2, "2"), song(1)) is None
    assert (house.state.oldest, house.state.older_seen) == (1, 2)
