"""Writes a table's stream: a record for every change, in the shard of its partition key."""

from __future__ import annotations

import datetime as dt
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from daicho.storage.attributes import ItemKey
from daicho.testing.aws.dynamodb.attribute_values import Image
from daicho.testing.aws.table_stream import Record, Shard, TableStream

TTL_PROCESS: Mapping[str, str] = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
HASH_RANGE_END = 2**32
HashRange = tuple[int, int]


class StreamRecorder:
    """Appends records to a stream. The shards divide the hash range of partition keys.

    ``sequence_number``: the last one that was used. ``next_step``: the distance to the next one.
    ``now``: the time, in UTC. ``observers`` are called with the key and both images of each change.
    """

    def __init__(
        self,
        stream: TableStream,
        now: Callable[[], dt.datetime],
        sequence_number: int,
        next_step: Callable[[], int],
    ) -> None:
        self.stream = stream
        self.observers: list[Callable[[ItemKey, Image | None, Image | None], None]] = []
        self._now = now
        self._sequence_number = sequence_number
        self._next_step = next_step
        self._open: dict[str, HashRange] = {}
        self._shard_count = 0
        self._open_shard(None, (0, HASH_RANGE_END))

    def record(
        self,
        key: ItemKey,
        old: Image | None,
        new: Image | None,
        identity: Mapping[str, str] | None = None,
    ) -> None:
        """Append the record of a change, unless the stream is disabled."""
        if not self.stream.enabled:
            for observe in self.observers:
                observe(key, old, new)
            return
        self._sequence_number += self._next_step()
        change: dict[str, Any] = {
            "ApproximateCreationDateTime": float(int(self._now().timestamp())),
            "Keys": {"PK": {"S": key.pk}, "SK": {"S": key.sk}},
            "SequenceNumber": str(self._sequence_number),
            "SizeBytes": 1,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        }
        change |= {"OldImage": dict(old)} if old is not None else {}
        change |= {"NewImage": dict(new)} if new is not None else {}
        record: Record = {
            "eventID": f"{self._sequence_number:032x}",
            "eventName": "INSERT" if old is None else "REMOVE" if new is None else "MODIFY",
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": "us-east-1",
            "dynamodb": change,
            "eventSourceARN": self.stream.arn,
        }
        record |= {"userIdentity": dict(identity)} if identity else {}
        self._find_shard(key).records.append(record)
        for observe in self.observers:
            observe(key, old, new)

    def begin_stream(self, label: str, sequence_number: int) -> None:
        """Begin another stream, as DynamoDB does when a stream is disabled and enabled.

        ``label``: the last part of its ARN. It has other shards, and its sequence numbers begin
        behind ``sequence_number``. The shards of the earlier stream get no more records.
        """
        for shard in self.open_shards:
            self._close_shard(shard)
        self.stream.enabled = True
        self.stream.arn = f"{self.stream.arn.rpartition('/')[0]}/{label}"
        self._sequence_number = sequence_number
        self._open_shard(None, (0, HASH_RANGE_END))

    @property
    def open_shards(self) -> list[str]:
        """The shards that still get records."""
        return list(self._open)

    def split(self, shard: str) -> list[str]:
        """Close a shard, which two children continue."""
        low, high = self._close_shard(shard)
        middle = (low + high) // 2
        return [self._open_shard(shard, (low, middle)), self._open_shard(shard, (middle, high))]

    def roll(self, shard: str) -> list[str]:
        """Close a shard as DynamoDB does every few hours; one child continues it."""
        return [self._open_shard(shard, self._close_shard(shard))]

    def _open_shard(self, parent: str | None, hash_range: HashRange) -> str:
        self._shard_count += 1
        shard = self.stream.open_shard(
            f"shardId-{self._shard_count:020}-{self._shard_count:08x}", parent
        )
        self._open[shard.id] = hash_range
        return shard.id

    def _close_shard(self, shard: str) -> HashRange:
        self.stream.shards[shard].closed = True
        return self._open.pop(shard)

    def _find_shard(self, key: ItemKey) -> Shard:
        position = zlib.crc32(key.pk.encode())
        for shard, (low, high) in self._open.items():
            if low <= position < high:
                return self.stream.shards[shard]
        raise AssertionError(f"no shard is open for {key}")
