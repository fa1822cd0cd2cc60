"""Which shards are retired, when, and what a batch of a retired shard does (rule 48)."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho.errors import ThrottledError
from daicho.storage.attributes import Image
from daicho.storage.protocols import DescribesStream, StreamShard, apply_update
from daicho.stream import claims, retirement
from daicho.stream.claims import Announcement, Claim, ShardClaims
from daicho.stream.projector import Projector
from daicho.stream.retirement import ShardRetirement
from daicho.stream.shard_items import RetiredShardError, put_claim
from daicho.testing.clock import SimulatedClock
from tests.support.invocation_time import Time
from tests.support.memory_stores import MemoryBucket, MemoryTable
from tests.support.sample_ledger import LEDGER, OLD_LEDGER
from tests.support.song_stream import build_song
from tests.support.stream_events import build_batch

SETTLE = dt.timedelta(seconds=1_000)
PARENT = StreamShard("s", None, is_closed=True)
CHILD = StreamShard("child", "s")
POISON: Image = {**build_song("c", "2"), "name": {"N": "1"}}


class House(DescribesStream):
    """A table, and the description of a stream. ``failing``: it cannot be described."""

    def __init__(self, *shards: StreamShard) -> None:
        self.table, self.clock, self.shards = MemoryTable(), SimulatedClock(), shards
        self.opened = self.described = 0
        self.failing = False
        self.retirement = self.restart()

    def restart(self) -> ShardRetirement:
        """The state of another process of the function."""
        self.retirement = ShardRetirement(self.table, self.open_stream, SETTLE, self.clock.now)
        return self.retirement

    def open_stream(self) -> House:
        self.opened += 1
        return self

    def list_shards(self) -> tuple[StreamShard, ...]:
        self.described += 1
        if self.failing:
            raise ThrottledError("describe")
        return self.shards

    def begin(self, shard: str) -> None:
        """The projector begins with a shard."""
        announced = Announcement("l#1", "l#2")
        apply_update(self.table, claims.announce_update(shard, announced, self.clock.now()))

    def read(self, shard: str) -> ShardClaims:
        return ShardClaims.from_item(shard, self.table.get(claims.build_shard_key(shard)))

    def project(self, *images: Image, ledger: Any = LEDGER) -> str | None:
        projector = Projector(
            self.table, MemoryBucket(), ledger, dirty_shards=1, now=self.clock.now
        )
        return projector.project(
            build_batch(*((None, image) for image in images)), Time().retry_budget
        )


def test_the_stream_is_described_once_an_hour_by_one_client() -> None:
    house = House(PARENT, CHILD)
    house.retirement.retire_if_due()
    house.begin("child")
    house.clock.advance(3_599)
    assert house.retirement.retire_if_due() == 0
    house.clock.advance(1)
    assert house.retirement.retire_if_due() == 1
    assert (house.opened, house.described) == (1, 2)


def test_an_error_is_tried_again_after_ten_minutes_and_forgets_nothing() -> None:
    house = House(PARENT, CHILD)
    house.begin("child")
    house.retirement.retire_if_due()
    house.clock.advance(3_600)
    house.failing = True
    assert house.retirement.retire_if_due() == 0
    assert house.retirement.get_settled().shards == {"s"}
    house.clock.advance(599)
    house.retirement.retire_if_due()
    assert house.described == 2
    house.clock.advance(1)
    house.retirement.retire_if_due()
    assert house.described == 3


def test_of_two_runs_at_once_the_first_mark_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    house = House(PARENT, CHILD)
    house.begin("child")
    first = house.clock.now()
    real = apply_update

    def overtaken(store: Any, update: Any) -> Any:
        monkeypatch.setattr(retirement, "apply_update", real)
        real(house.table, update)
        house.clock.advance(5)
        return real(store, update)

    monkeypatch.setattr(retirement, "apply_update", overtaken)
    house.retirement.retire_if_due()
    assert house.read("s").retired_at == first
    house.clock.advance(995)
    assert house.retirement.get_settled().shards == {"s"}


def test_the_mark_expires_in_30_days_unless_a_claim_holds_it() -> None:
    house = House(PARENT, CHILD)
    house.begin("child")
    house.retirement.retire_if_due()
    month = int((house.clock.now() + claims.SHARD_ITEM_RETENTION).timestamp())
    assert house.table.items[claims.build_shard_key("s")]["ttl"] == {"N": str(month)}
    held = House(PARENT, CHILD)
    held.begin("child")
    put_claim(held.table, "s", Claim("l#5", "open", "Song", 1, held.clock.now()))
    held.retirement.retire_if_due()
    assert held.table.items[claims.build_shard_key("s")]["ttl"] == {"N": str(claims.NEVER)}


@pytest.mark.parametrize("is_announced", [True, False])
def test_a_batch_of_a_retired_shard_is_done_without_a_write(is_announced: bool) -> None:
    house = House(PARENT, CHILD)
    if is_announced:
        assert house.project(build_song("b")) is None
    house.begin("child")
    house.retirement.retire_if_due()
    before = dict(house.table.items)
    assert house.project(build_song("b")) is None
    assert house.project(build_song("b"), build_song("d", "3")) is None
    assert house.project(build_song("b"), POISON) is None
    # Older code would wait for newer code. But this batch was handled.
    assert (
        house.project({**build_song("b"), "gen": {"N": "1"}}, build_song("e"), ledger=OLD_LEDGER)
        is None
    )
    assert dict(house.table.items) == before


def test_only_a_redrive_puts_a_claim_in_a_retired_shard() -> None:
    house = House(PARENT, CHILD)
    house.begin("child")
    house.retirement.retire_if_due()
    now = house.clock.now()
    for state in ("open", "uncertain"):
        with pytest.raises(RetiredShardError):
            put_claim(house.table, "s", Claim("l#5", state, "Song", 1, now))
    assert put_claim(house.table, "s", Claim("l#5", "discarded", "Song", 1, now))
    # What was claimed before is not claimed again, whoever asks.
    assert not put_claim(house.table, "s", Claim("l#5", "uncertain", "Song", 1, now))
