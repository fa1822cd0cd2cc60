"""DescribeTable and DescribeStream in memory. A description may be behind.

A shard that was just closed may still look open, or closed without children. The children of one
shard appear together. Source: the shard graph of the DynamoDB Streams Kinesis Adapter, which
describes a stream again if it has closed leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daicho.testing.aws.table_stream import Shard, TableStream

MAX_SHARDS = 3
"""Shards of one page. DynamoDB has 100."""


class MemoryStreams:
    """The newest stream of a table.

    ``lag`` returns the number of closed shards, from the last one on, whose children are not shown
    yet. If it is even, these shards do not look closed.
    """

    def __init__(self, stream: TableStream, lag: Callable[[], int]) -> None:
        self._stream = stream
        self._lag = lag
        self._described: list[dict[str, Any]] = []

    def describe_table(self, **request: Any) -> dict[str, Any]:
        """The table, as far as its stream is concerned."""
        table = {"TableName": request["TableName"], "LatestStreamArn": self._stream.arn}
        if self._stream.enabled:
            table["StreamSpecification"] = {"StreamEnabled": True}
        return {"Table": table}

    def describe_stream(self, **request: Any) -> dict[str, Any]:
        """One page of shards. The first page decides what all pages show."""
        start = request.get("ExclusiveStartShardId")
        if start is None:
            self._described = self._describe(request["StreamArn"])
        ids = [shard["ShardId"] for shard in self._described]
        begin = ids.index(start) + 1 if start is not None else 0
        page = self._described[begin : begin + MAX_SHARDS]
        more = begin + MAX_SHARDS < len(ids)
        last = {"LastEvaluatedShardId": page[-1]["ShardId"]} if more else {}
        return {"StreamDescription": {"StreamArn": request["StreamArn"], "Shards": page, **last}}

    def _describe(self, arn: str) -> list[dict[str, Any]]:
        lag = self._lag()
        shards = [shard for shard in self._stream.shards.values() if shard.arn == arn]
        parents = list(dict.fromkeys(shard.parent for shard in shards if shard.parent))
        behind = set(parents[-lag:]) if lag else set()
        described: list[dict[str, Any]] = []
        hidden: set[str] = set()
        for shard in shards:
            if shard.parent in behind or shard.parent in hidden:
                hidden.add(shard.id)
            else:
                looks_closed = shard.closed and not (shard.id in behind and lag % 2 == 0)
                described.append(_describe_shard(shard, is_closed=looks_closed))
        return described


def _describe_shard(shard: Shard, *, is_closed: bool) -> dict[str, Any]:
    ends = {"EndingSequenceNumber": "1"} if is_closed else {}
    parent = {"ParentShardId": shard.parent} if shard.parent else {}
    sequence_numbers = {"StartingSequenceNumber": "0", **ends}
    return {"ShardId": shard.id, "SequenceNumberRange": sequence_numbers, **parent}
