"""Event filters that spread over the shards, descriptions that are behind, low watermarks."""

from __future__ import annotations

import json
from typing import Any

from daicho.layout.heartbeats import HeartbeatName, build_heartbeat
from daicho.storage.protocols import StreamShard
from daicho.storage.stream_shards import StreamDescriber
from daicho.testing.aws.event_source_mapping import EventSourceMapping
from daicho.testing.aws.invocations import FunctionReturned
from daicho.testing.aws.mapping_settings import MappingSettings
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from daicho.testing.aws.memory_streams import MAX_SHARDS, MemoryStreams
from daicho.testing.aws.stream_recorder import StreamRecorder
from daicho.testing.aws.table_stream import TableStream
from daicho.testing.clock import SimulatedClock
from daicho.testing.oracle.stream_history import is_base_item

OLD_FILTER = '{"dynamodb":{"NewImage":{"n":{"S":["a"]}}}}'
NEW_FILTER = '{"dynamodb":{"NewImage":{"n":{"S":["a","b"]}}}}'
DONE = FunctionReturned({"state": {}, "batchItemFailures": []})


class House:
    """A table, its stream, and a mapping whose filter selects the items with the name ``a``."""

    def __init__(self) -> None:
        self.clock, self.stream = SimulatedClock(), TableStream()
        self.recorder = StreamRecorder(self.stream, self.clock.now, 0, lambda: 1)
        self.dynamodb = MemoryDynamoDB(self.clock.now, self.recorder)
        settings = MappingSettings(filters=(OLD_FILTER,), tumbling_window=900)
        self.mapping = EventSourceMapping(settings, self.stream, self.clock.now)
        self.count = 0

    def write(self, name: str, partition: str = "p") -> None:
        self.count += 1
        key = {"PK": {"S": partition}, "SK": {"S": str(self.count)}}
        self.dynamodb.put_item(Item={**key, "n": {"S": name}})

    def deliver(self) -> list[str]:
        """The sort keys of the records that arrive now."""
        arrived = []
        for shard in self.mapping.list_ready_shards():
            while (invocation := self.mapping.poll(shard)) is not None:
                records = json.loads(invocation.payload)["Records"]
                arrived += [record["dynamodb"]["Keys"]["SK"]["S"] for record in records]
                self.mapping.settle(invocation, DONE)
        return arrived


def test_the_old_filter_drops_for_good_until_the_poller_uses_the_new_one() -> None:
    house = House()
    house.write("b")
    assert house.deliver() == []
    house.mapping.change_filters([NEW_FILTER], lambda: 90.0)
    house.write("b")
    house.clock.advance(89)
    assert house.deliver() == []
    house.clock.advance(1)
    house.write("b")
    assert house.deliver() == ["3"]
    assert house.mapping.list_selections(*house.stream.shards) == [False, False, True]


def test_a_record_is_judged_by_the_filter_that_is_in_use_when_it_is_read() -> None:
    house = House()
    house.mapping.change_filters([NEW_FILTER], lambda: 10.0)
    house.write("b")
    house.clock.advance(10)
    assert house.deliver() == ["1"]


def test_each_shard_has_its_own_delay_and_children_have_that_of_their_parent() -> None:
    house = House()
    left, right = house.recorder.split(*house.recorder.open_shards)
    delays = iter((0.0, 0.0, 50.0))
    house.mapping.change_filters([NEW_FILTER], lambda: next(delays))
    children = {shard: house.recorder.roll(shard)[0] for shard in (left, right)}
    partitions = [f"p{number}" for number in range(20)]
    for partition in partitions:
        house.write("b", partition)
    house.deliver()
    selections = {
        shard: set(house.mapping.list_selections(child)) for shard, child in children.items()
    }
    assert selections == {left: {True}, right: {False}}


def test_a_stream_that_begins_later_has_the_newest_filter() -> None:
    house = House()
    house.mapping.change_filters([NEW_FILTER], lambda: 90.0)
    house.recorder.begin_stream("2027", 0)
    house.write("b")
    assert house.deliver() == ["1"]


def describe(house: House, lag: int) -> list[StreamShard]:
    client: Any = MemoryStreams(house.stream, lambda: lag)
    return list(StreamDescriber(client, client, "daicho").list_shards())


def test_a_description_has_all_shards_in_pages() -> None:
    house = House()
    (first,) = house.recorder.open_shards
    children = house.recorder.split(first)
    for child in children:
        house.recorder.roll(child)
    shards = describe(house, 0)
    assert len(shards) == 5 > MAX_SHARDS
    assert shards[0] == StreamShard(first, None, is_closed=True)
    assert [shard.is_closed for shard in shards] == [True, True, True, False, False]
    assert {shard.parent for shard in shards[3:]} == set(children)


def test_a_description_may_lack_the_children_of_shards_that_were_just_closed() -> None:
    house = House()
    (first,) = house.recorder.open_shards
    (second,) = house.recorder.roll(first)
    house.recorder.split(second)
    both = [StreamShard(first, None, is_closed=True), StreamShard(second, first, is_closed=True)]
    assert describe(house, 1) == both
    assert describe(house, 2) == [StreamShard(first)]
    assert describe(house, 3) == [StreamShard(first, None, is_closed=True)]


def test_only_the_newest_stream_is_described() -> None:
    house = House()
    house.recorder.begin_stream("2027", 0)
    assert [shard.id for shard in describe(house, 0)] == house.recorder.open_shards


def test_heartbeats_are_no_base_items() -> None:
    house = House()
    assert not is_base_item(build_heartbeat(HeartbeatName("r", "Song"), 0, house.clock.now()))
    assert is_base_item({"type": {"S": "Song"}})
    assert not is_base_item({})
