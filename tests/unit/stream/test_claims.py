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
