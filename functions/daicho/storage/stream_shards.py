"""The shards of a table's stream, as DynamoDB describes them.

A description is eventually consistent. A shard that was just split may still look open, or closed
without children. Source: the shard graph of the DynamoDB Streams Kinesis Adapter, which describes
the stream again if it has closed leaves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from daicho.storage.botocore_errors import translate_errors
from daicho.storage.protocols import StreamDescription, StreamShard
from daicho.storage.sessions import build_config, open_on_first_use

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient


class StreamDescriber:
    """Describes the newest stream of one table. Raises `daicho.errors.StoreError`s only."""

    def __init__(
        self, dynamodb: DynamoDBClient, streams: DynamoDBStreamsClient, table: str
    ) -> None:
        self._dynamodb = dynamodb
        self._streams = streams
        self._table = table

    def list_shards(self) -> tuple[StreamShard, ...]:
        """All shards that the stream still has; none if the table has no stream."""
        return self.describe().shards

    def describe(self) -> StreamDescription:
        """The stream. One that is disabled is described for another day."""
        with translate_errors(f"describe the stream of {self._table}"):
            table = self._dynamodb.describe_table(TableName=self._table)["Table"]
            arn = table.get("LatestStreamArn", "")
            is_enabled = bool(table.get("StreamSpecification", {}).get("StreamEnabled"))
            shards = tuple(self._iterate_shards(arn)) if arn else ()
            return StreamDescription(arn.rpartition("/")[2], is_enabled, shards)

    def _iterate_shards(self, arn: str) -> Iterator[StreamShard]:
        start: dict[str, Any] = {}
        while True:
            page = self._streams.describe_stream(StreamArn=arn, **start)["StreamDescription"]
            for shard in page.get("Shards", ()):
                is_closed = "EndingSequenceNumber" in shard.get("SequenceNumberRange", {})
                yield StreamShard(shard["ShardId"], shard.get("ParentShardId"), is_closed)
            last = page.get("LastEvaluatedShardId")
            if not last:
                return
            start = {"ExclusiveStartShardId": last}


def read_mapping_state(uuid: str) -> str | None:
    """The state of an event source mapping, such as ``Enabled``; None if there is no such mapping.

    Raises:
        StoreError: Lambda does not answer.
    """
    client = open_on_first_use("lambda", build_config(attempts=3))
    with translate_errors(f"read the event source mapping {uuid}"):
        try:
            return str(client.get_event_source_mapping(UUID=uuid)["State"])
        except client.exceptions.ResourceNotFoundException:
            return None


def open_stream_describer(
    table: str, *, endpoint: str | None = None, region: str | None = None
) -> StreamDescriber:
    """A describer with clients whose attempts and timeouts are bounded, opened on first use."""
    config = build_config(attempts=3)
    dynamodb = open_on_first_use("dynamodb", config, endpoint=endpoint, region=region)
    streams = open_on_first_use("dynamodbstreams", config, endpoint=endpoint, region=region)
    return StreamDescriber(dynamodb, streams, table)
