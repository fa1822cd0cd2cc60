"""The shard item: what it says, and what changes it."""

from __future__ import annotations

import datetime as dt

import pytest

from daicho.errors import ConditionFailedError
from daicho.layout.heartbeats import HeartbeatName
from daicho.storage.attributes import Image
from daicho.storage.protocols import apply_update
from daicho.storage.requests import Update
from daicho.storage.table import Table
from daicho.stream import claims
from daicho.stream.claims import Announcement, Claim, ShardClaims, State
from daicho.stream.records import render_sequence
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB

NOW = dt.datetime(2026, 11, 21, 1, 5, 40, tzinfo=dt.UTC)
LABEL = "2026-11-21T00:00:00.000"
SHARD = "shardId-1"


def claim(number: int, state: State = "open", at: dt.datetime = NOW) -> Claim:
    return Claim(render_sequence(LABEL, str(number)), state, "So#ng", 3, at)


def announce(last: int, first: int | None = None, **heartbeats: int) -> Update:
    """An announcement from ``first`` to ``last``. ``heartbeats``: numbers by entity."""
    names = {HeartbeatName("r#1", entity): claim(seq).seq for entity, seq in heartbeats.items()}
    numbers = claim(last if first is None else first).seq, claim(last).seq
    return claims.announce_update(SHARD, Announcement(*numbers, names), NOW)


class House:
    """A shard item in a table in memory."""

    def __init__(self) -> None:
        self.table = Table(MemoryDynamoDB(lambda: NOW), "daicho")  # type: ignore[arg-type]

    def change(self, change: Update) -> ShardClaims:
        image = apply_update(self.table, change, "ALL_NEW")
        return ShardClaims.from_item(SHARD, image)

    def refused(self, change: Update) -> bool:
        try:
            self.change(change)
        except ConditionFailedError:
            return True
        return False

    @property
    def item(self) -> Image:
        found = self.table.get(claims.build_shard_key(SHARD), consistent=True)
        assert found is not None
        return found


def test_a_claim_is_put_once_whatever_its_state() -> None:
    house = House()
    assert house.change(claims.put_claim_update(SHARD, claim(7))).open == 1
    states: tuple[State, ...] = ("open", "uncertain", "discarded")
    assert all(house.refused(claims.put_claim_update(SHARD, claim(7, state))) for state in states)
    assert house.change(claims.put_claim_update(SHARD, claim(5, "uncertain"))).open == 2
    found = ShardClaims.from_item(SHARD, house.item)
    assert found.open_claims == (claim(5, "uncertain"), claim(7))


def test_an_open_claim_is_good_only_before_the_record_is_announced() -> None:
    house = House()
    house.change(announce(7))
    assert house.refused(claims.put_claim_update(SHARD, claim(7)))
    assert house.refused(claims.put_claim_update(SHARD, claim(6)))
    house.change(claims.put_claim_update(SHARD, claim(8)))
    house.change(claims.put_claim_update(SHARD, claim(7, "uncertain")))


def test_what_is_announced_never_sinks() -> None:
    house = House()
    house.change(announce(100))
    assert house.refused(announce(99))
    assert house.refused(announce(100))
    assert house.change(announce(101)).announced == claim(101).seq


def test_the_low_watermark_is_the_first_record_of_a_batch_and_never_sinks() -> None:
    house = House()
    assert house.change(announce(9, first=5)).low_watermark == claim(5).seq
    assert house.refused(announce(9, first=7))  # as much was announced: nothing is raised
    assert house.refused(announce(12, first=4))  # records that were handled before, and newer ones
    assert ShardClaims.from_item(SHARD, house.item).low_watermark == claim(5).seq
    assert house.change(announce(12, first=5)).low_watermark == claim(5).seq
    assert house.change(announce(100, first=99)).low_watermark == claim(99).seq


def test_the_low_watermark_may_be_left_where_it_is() -> None:
    house = House()
    house.change(announce(9, first=5))
    older = Announcement(claim(2).seq, claim(10).seq)
    found = house.change(claims.announce_update(SHARD, older, NOW, raises_low_watermark=False))
    assert (found.announced, found.low_watermark) == (claim(10).seq, claim(5).seq)


def test_a_heartbeat_has_passed_when_everything_before_it_is_handled() -> None:
    name = HeartbeatName("r#1", "So#ng")
    house = House()
    assert not house.change(announce(9, first=5, **{"So#ng": 8})).has_passed(name)
    assert not house.change(announce(12, first=7)).has_passed(name)
    found = house.change(announce(15, first=13, **{"So#ng": 14, "Album": 15}))
    assert found.heartbeats[name] == claim(8).seq  # the first one stays
    assert found.has_passed(name)
    assert not found.has_passed(HeartbeatName("r#1", "Album"))
    assert not found.has_passed(HeartbeatName("r#2", "So#ng"))
    assert house.change(announce(16, Album=16)).has_passed(HeartbeatName("r#1", "Album"))


def test_an_announcement_is_not_too_long_for_an_expression() -> None:
    names = {f"Entity{number}": 5 for number in range(claims.MAX_HEARTBEATS)}
    announcement = announce(9, first=5, **names)
    assert len(announcement.update.encode()) < 4096
    House().change(announcement)


def test_heartbeats_of_a_run_can_be_forgotten() -> None:
    house = House()
    names = [HeartbeatName("r#1", "Song"), HeartbeatName("r#2", "Song")]
    assert house.refused(
        claims.forget_heartbeats_update(claims.build_shard_key(SHARD), names)
    )  # no item to create
    house.change(announce(9, first=5, Song=8, Album=9))
    left = house.change(claims.forget_heartbeats_update(claims.build_shard_key(SHARD), names))
    assert list(left.heartbeats) == [HeartbeatName("r#1", "Album")]
    assert left.low_watermark == claim(5).seq


def test_a_claim_is_done_once_and_only_as_read() -> None:
    house = House()
    house.change(claims.put_claim_update(SHARD, claim(2)))
    assert house.refused(claims.finish_update(SHARD, claim(2, "uncertain"), NOW))
    found = house.change(claims.finish_update(SHARD, claim(2), NOW))
    assert (found.open, found.open_claims) == (0, ())
    assert house.refused(claims.finish_update(SHARD, claim(2), NOW))
    assert house.refused(claims.put_claim_update(SHARD, claim(2)))


def test_no_more_are_put_than_a_shard_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "MAX_OPEN_CLAIMS", 2)
    monkeypatch.setattr(claims, "MAX_DONE_CLAIMS", 1)
    house = House()
    for number in range(2):
        house.change(claims.put_claim_update(SHARD, claim(number)))
    assert house.refused(claims.put_claim_update(SHARD, claim(2)))
    house.change(claims.finish_update(SHARD, claim(0), NOW))
    house.change(claims.put_claim_update(SHARD, claim(2)))
    assert house.refused(claims.finish_update(SHARD, claim(1), NOW))
