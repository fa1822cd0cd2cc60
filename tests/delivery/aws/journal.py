"""What writes a table's stream: a record for every change, in the shard of its partition key."""

from __future__ import annotations

import datetime as dt
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from daicho.storage.item_key import ItemKey
from tests.delivery.aws.attributes import Image
from tests.delivery.aws.stream import Record, Shard, Stream

TTL_PROCESS: Mapping[str, str] = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
HASHES = 2**32
Stretch = tuple[int, int]


class Journal:
    """Appends to a stream. Shards share out the hashes of partition keys.

    ``number`` is the last sequence number given; ``step`` draws how far the next one is.
    """

    def __init__(
        self, stream: Stream, now: Callable[[], dt.datetime], number: int, step: Callable[[], int]
    ) -> None:
        self.stream = stream
        self._now = now
        self._number = number
        self._step = step
        self._open: dict[str, Stretch] = {}
        self._opened = 0
        self._begin(None, (0, HASHES))

    def record(
        self,
        key: ItemKey,
        old: Image | None,
        new: Image | None,
        identity: Mapping[str, str] | None = None,
    ) -> None:
        """Append the record of a change."""
        self._number += self._step()
        change: dict[str, Any] = {
            "ApproximateCreationDateTime": float(int(self._now().timestamp())),
            "Keys": {"PK": {"S": key.pk}, "SK": {"S": key.sk}},
            "SequenceNumber": str(self._number),
            "SizeBytes": 1,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        }
        change |= {"OldImage": dict(old)} if old is not None else {}
        change |= {"NewImage": dict(new)} if new is not None else {}
        record: Record = {
            "eventID": f"{self._number:032x}",
            "eventName": "INSERT" if old is None else "REMOVE" if new is None else "MODIFY",
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": "us-east-1",
            "dynamodb": change,
            "eventSourceARN": self.stream.arn,
        }
        record |= {"userIdentity": dict(identity)} if identity else {}
        self._shard_of(key).records.append(record)

    @property
    def open_shards(self) -> list[str]:
        """The shards that records still come into."""
        return list(self._open)

    def split(self, shard: str) -> list[str]:
        """Close a shard; two children go on."""
        low, high = self._close(shard)
        middle = (low + high) // 2
        return [self._begin(shard, (low, middle)), self._begin(shard, (middle, high))]

    def roll(self, shard: str) -> list[str]:
        """Close a shard as DynamoDB does every few hours; one child goes on."""
        return [self._begin(shard, self._close(shard))]

    def _begin(self, parent: str | None, stretch: Stretch) -> str:
        self._opened += 1
        shard = self.stream.open_shard(f"shardId-{self._opened:020}-{self._opened:08x}", parent)
        self._open[shard.id] = stretch
        return shard.id

    def _close(self, shard: str) -> Stretch:
        self.stream.shards[shard].closed = True
        return self._open.pop(shard)

    def _shard_of(self, key: ItemKey) -> Shard:
        place = zlib.crc32(key.pk.encode())
        for shard, (low, high) in self._open.items():
            if low <= place < high:
                return self.stream.shards[shard]
        raise AssertionError(f"no shard is open for {key}")
