"""Announcements of code that was rolled back: before its writes, and valid for a while."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest

from daicho.errors import ConditionFailedError
from daicho.layout.backfill_state import BackfillState, build_backfill_key, complete_update
from daicho.release.older_writers import LEASE_S, READERS_KNOW_S, OlderWriters
from daicho.runtime.clock import ClockReading
from daicho.storage.attributes import ItemKey, to_image
from daicho.storage.protocols import try_update
from daicho.storage.requests import Put
from tests.support.memory_stores import MemoryTable
from tests.support.sample_members import PLAIN, WITH_LIST, number

TWO = number(PLAIN, WITH_LIST)
OLDER = replace(TWO, written={"Member": 1})
ITEM = to_image({"PK": "t#Member#1", "SK": "#", "type": "Member", "gen": 1})


class House:
    """A table that announces, with a clock."""

    def __init__(self, oldest: int = 2) -> None:
        self.now = 100.0
        self.pauses: list[float] = []
        self.table = MemoryTable()
        self.table.batch_write([BackfillState("Member", oldest, 2).to_item()])
        self.frozen = 0.0
        self.writers = self.create_writers()

    def create_writers(self) -> OlderWriters:
        return OlderWriters(self.table, OLDER, self.pauses.append, clocks=self.read_clocks)

    def read_clocks(self) -> ClockReading:
        return ClockReading(monotonic=self.now - self.frozen, wall=self.now)

    def complete(self) -> None:
        """A rebuild ends."""
        now = dt.datetime.fromtimestamp(self.now, dt.UTC)
        update = complete_update(self.read(), 2, frozenset(), now)
        assert try_update(self.table, update)

    def read(self) -> BackfillState:
        item = self.table.get(build_backfill_key("Member"))
        assert item is not None
        return BackfillState.parse("Member", item)


def test_it_is_repeated_when_it_is_not_valid_any_more() -> None:
    house = House()
    for passed, count in ((0.0, 1), (LEASE_S - 0.1, 1), (0.2, 2), (LEASE_S, 3)):
        house.now += passed
        house.writers.announce()
        assert house.read().older_seen == count
    # Only the first one waits: readers know since then.
    assert house.pauses == [READERS_KNOW_S]


def test_a_frozen_instance_announces_although_its_monotonic_clock_stood_still() -> None:
    house = House()
    house.writers.announce()
    house.complete()
    house.now += 3_600
    house.frozen += 3_600
    house.writers.announce()
    assert house.read().oldest == 1


def test_a_wall_clock_that_was_set_back_ends_the_announcement() -> None:
    house = House()
    house.writers.announce()
    house.now -= 3_600
    house.frozen -= 3_600 + 1
    house.writers.announce()
    assert house.read().older_seen == 2


def test_each_kind_of_write_is_announced_first() -> None:
    house = House()
    count = 0

    def announce() -> None:
        nonlocal count
        count += 1

    table = house.table.with_announcement(announce)
    table.batch_write([ITEM])
    table.transact([Put(ITEM)])
    table.update(ItemKey("t#Member#1", "#"), "SET gen = :g", names={}, values={":g": {"N": "1"}})
    table.put(ITEM, condition="attribute_exists(PK)", values={})
    table.delete(ItemKey("t#Member#1", "#"), condition="attribute_exists(PK)", names={}, values={})
    assert count == 5
    assert table.get(ItemKey("t#Member#1", "#")) is None
    assert count == 5

    def fail() -> None:
        raise ConditionFailedError("no", None)

    with pytest.raises(ConditionFailedError):
        house.table.with_announcement(fail).batch_write([ITEM])
    assert table.get(ItemKey("t#Member#1", "#")) is None


def test_code_that_was_not_rolled_back_announces_nothing() -> None:
    writers = OlderWriters(MemoryTable(), TWO, lambda _: None)
    assert not writers.is_needed
    assert House().writers.is_needed
    writers.announce()


def test_an_announcement_that_took_longer_than_it_is_valid_is_repeated() -> None:
    """A rebuild may have ended after the first one, before anything is written."""
    house = House()
    pauses = iter([LEASE_S, 0.0])

    def sleep(_seconds: float) -> None:
        house.now += next(pauses)

    OlderWriters(house.table, OLDER, sleep, clocks=house.read_clocks).announce()
    assert house.read().older_seen == 2
