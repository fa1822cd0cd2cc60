"""Which shards a heartbeat has passed: shards that split, roll, or are described too early."""

from __future__ import annotations

import pytest

from daicho.layout.heartbeats import HeartbeatName
from daicho.storage.protocols import StreamShard
from daicho.stream.claims import ShardClaims
from daicho.stream.shard_progress import StreamProgress

NAME = HeartbeatName("run", "Song")
OPEN_A = StreamShard("a")
CLOSED_A = StreamShard("a", None, is_closed=True)
B, C = StreamShard("b", "a"), StreamShard("c", "a")


def item(shard: str, low_watermark: str = "", heartbeat: str = "") -> ShardClaims:
    heartbeats = {NAME: heartbeat} if heartbeat else {}
    return ShardClaims(shard, low_watermark=low_watermark, heartbeats=heartbeats)


def list_waiting(shards: tuple[StreamShard, ...], *items: ShardClaims) -> tuple[str, ...]:
    return StreamProgress(shards, {item.id: item for item in items}).list_waiting(NAME)


@pytest.mark.parametrize(
    ("shard_item", "waiting"),
    [
        (None, ("a",)),
        (item("a", "5"), ("a",)),
        (item("a", "5", heartbeat="6"), ("a",)),
        (item("a", "6", heartbeat="6"), ()),
        (item("a", "7", heartbeat="6"), ()),
        (item("a", "", heartbeat="6"), ("a",)),
    ],
)
def test_an_open_shard_is_passed_by_its_low_watermark(
    shard_item: ShardClaims | None, waiting: tuple[str, ...]
) -> None:
    assert list_waiting((OPEN_A,), *([shard_item] if shard_item else [])) == waiting


def test_a_closed_shard_is_passed_once_a_child_has_begun() -> None:
    assert list_waiting((CLOSED_A, B, C)) == ("a", "b", "c")
    assert list_waiting((CLOSED_A, B, C), item("a", "3", heartbeat="4"), item("c", "9")) == (
        "b",
        "c",
    )


def test_a_closed_shard_without_children_is_waited_for() -> None:
    """The description may lack its children."""
    assert list_waiting((CLOSED_A,), item("a", "3", heartbeat="4")) == ("a",)
    assert list_waiting((CLOSED_A,), item("a", "4", heartbeat="4")) == ()
