"""The watcher of heartbeats, over a table and a projector in memory."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from daicho.errors import ThrottledError
from daicho.layout.heartbeats import MAX_KEYS, count_keys, is_heartbeat
from daicho.runtime.retry import RetryBudget
from daicho.storage.protocols import DescribesStream, StreamShard
from daicho.storage.table import Table
from daicho.stream import claims
from daicho.stream.heartbeat_watcher import (
    HeartbeatProgress,
    HeartbeatRun,
    HeartbeatWatcher,
)
from daicho.stream.projector import Projector
from daicho.stream.records import Batch
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from daicho.testing.aws.stream_recorder import StreamRecorder
from daicho.testing.aws.table_stream import TableStream
from daicho.testing.clock import SimulatedClock
from tests.support.memory_stores import MemoryBucket
from tests.support.sample_ledger import LEDGER

RUN = HeartbeatRun("run", ("Song", "Order"))


class House(DescribesStream):
    """A table with its stream. Each pause of the watcher delivers the stream to the projector.

    ``dropped``: entities whose heartbeats the event filter drops. ``left``: seconds of the watcher.
    """

    def __init__(self, seconds: float = 300, shards: int = 1) -> None:
        self.clock, self.stream = SimulatedClock(), TableStream()
        self.recorder = StreamRecorder(self.stream, self.clock.now, 94, lambda: 1)
        if shards == 2:
            self.recorder.split(*self.recorder.open_shards)
        self.dynamodb = MemoryDynamoDB(self.clock.now, self.recorder)
        client: Any = self.dynamodb
        self.table = Table(client, "daicho")
        self.left = seconds
        self.dropped: set[str] = set()
        self.failing = 0
        self.handled: dict[str, int] = {}
        self.watcher = HeartbeatWatcher(self.table, self, now=self.clock.now)
        self.budget = RetryBudget(lambda: self.left, 20, self.pause, lambda: 0.9)

    def list_shards(self) -> tuple[StreamShard, ...]:
        if self.failing:
            self.failing -= 1
            raise ThrottledError("describe")
        return tuple(
            StreamShard(shard.id, shard.parent, shard.closed)
            for shard in self.stream.shards.values()
            if shard.arn == self.stream.arn
        )

    def pause(self, seconds: float) -> None:
        self.left -= seconds
        self.clock.advance(seconds)
        self.deliver(self.stream.shards)

    def deliver(self, shards: Iterable[str]) -> None:
        projector = Projector(
            self.table, MemoryBucket(), LEDGER, dirty_shards=1, now=self.clock.now
        )
        for shard in shards:
            records = self.stream.shards[shard].records
            begin = self.handled.get(shard, 0)
            self.handled[shard] = len(records)
            sent = [
                record
                for record in json.loads(json.dumps(records[begin : self.handled[shard]]))
                if record["dynamodb"]["NewImage"].get("heartbeat", {}).get("S") not in self.dropped
                and is_heartbeat(record["dynamodb"]["NewImage"])
            ]
            if sent:
                batch = Batch.parse({"shardId": shard, "Records": sent})
                assert projector.project(batch, self.budget) is None

    @property
    def heartbeats(self) -> list[str]:
        return [item["heartbeat"]["S"] for _, item in self.dynamodb.items if is_heartbeat(item)]


@pytest.mark.parametrize("shards", [1, 2])
def test_heartbeats_pass_every_shard(shards: int) -> None:
    house = House(shards=shards)
    progress = house.watcher.watch(RUN, house.budget)
    assert progress.has_passed
    assert "have passed" in str(progress)
    assert house.left > 200


@pytest.mark.parametrize(("open_shards", "waiting", "keys"), [(0, 0, 3), (1, 1, 3), (4, 4, 18)])
def test_more_shards_need_more_keys(open_shards: int, waiting: int, keys: int) -> None:
    assert count_keys(open_shards, waiting, 3.0) == keys
    assert count_keys(10**6, 10**6, 3.0) == MAX_KEYS


def test_an_entity_that_the_filter_drops_is_waited_for() -> None:
    house = House()
    house.dropped = {"Order"}
    progress = house.watcher.watch(RUN, house.budget)
    assert not progress.has_passed
    assert list(progress.waiting) == ["Order"]
    assert str(progress) == "1 of 1 shards wait for a heartbeat of Order"
    assert house.left <= 20
    assert house.heartbeats.count("Song") < house.heartbeats.count("Order")
    house.left, house.dropped = 300, set()
    assert house.watcher.watch(RUN, house.budget).has_passed


def test_a_shard_that_is_not_delivered_is_waited_for() -> None:
    house = House(shards=2)
    first, *_ = house.stream.shards
    (silent, _) = house.recorder.open_shards
    house.pause = lambda seconds: None  # type: ignore[method-assign]
    progress = house.watcher.check(RUN)
    house.watcher.send(RUN, progress, 0)
    house.deliver([shard for shard in house.stream.shards if shard != silent])
    waiting = house.watcher.check(RUN).waiting
    assert set(waiting["Song"]) == {silent}
    assert first not in waiting["Song"]  # it is closed, and a child has begun


def test_another_stream_has_shards_of_its_own() -> None:
    """Its numbers begin from the start, and its label sorts behind the earlier one's."""
    house = House()
    assert house.watcher.watch(RUN, house.budget).has_passed
    house.recorder.begin_stream("2027-01-01T00:00:00.000", 3)
    (shard,) = house.recorder.open_shards
    assert house.watcher.check(RUN).waiting == {"Song": (shard,), "Order": (shard,)}
    assert house.watcher.watch(RUN, house.budget).has_passed


def test_failing_reads_are_tried_again_until_time_is_over() -> None:
    house = House()
    house.failing = 3
    assert house.watcher.watch(RUN, house.budget).has_passed
    house.failing = 10_000
    assert house.watcher.watch(HeartbeatRun("2", ("Song",)), house.budget) == HeartbeatProgress()
    assert house.left <= 20


def test_a_run_that_is_over_can_be_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "MAX_HEARTBEATS", 1)
    house = House(shards=2)
    for entity in RUN.entities:
        assert house.watcher.watch(HeartbeatRun("run", (entity,)), house.budget).has_passed
    house.watcher.forget(RUN)
    assert set(house.watcher.check(RUN).waiting) == set(RUN.entities)
    assert not any(
        name.startswith("heartbeat#")
        for key, item in house.dynamodb.items
        if key.sk == "claims"
        for name in item
    )
