"""The stream of a Dynoxide table, handed to real handlers as Lambda's event source mapping would.

In order, each record once; faults are the delivery tests' matter. An event is what Lambda sends to
a mapping with a tumbling window, so it names its shard.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import boto3
from botocore.config import Config
from mypy_boto3_dynamodb import DynamoDBClient

from daicho.handlers.wiring.invocation import Handler
from tests.support.dynoxide import REGION

BATCH = 1_000
SHARD = "shardId-00000000000000000000-00000001"


class Context:
    """A Lambda context with time enough. It passes, so that what retries without end fails."""

    function_name = "test"
    function_version = "$LATEST"
    invoked_function_arn = f"arn:aws:lambda:{REGION}:000000000000:function:test"
    memory_limit_in_mb = 512
    aws_request_id = "00000000-0000-0000-0000-000000000000"

    def __init__(self) -> None:
        self._end = time.monotonic() + 120

    def get_remaining_time_in_millis(self) -> int:
        return int(1_000 * (self._end - time.monotonic()))


def environment(table_name: str, **more: str) -> dict[str, str]:
    """What the stack tells its functions. Their clients find Dynoxide by AWS_ENDPOINT_URL."""
    return {
        "TABLE_NAME": table_name,
        "STAGE": "dev",
        "DIRTY_SHARDS": "4",
        "FAILURE_BUCKET": "failures",
        "OBJECT_BUCKET": "objects",
        "JOB_MACHINE": "jobs",
        **more,
    }


@dataclass
class Consumer:
    """A handler, and the entities that its event filter lets through."""

    handler: Handler
    types: Sequence[str]

    def wants(self, record: Mapping[str, Any]) -> bool:
        change = record["dynamodb"]
        image = change.get("NewImage") or change.get("OldImage") or {}
        return image.get("type", {}).get("S") in self.types


@dataclass
class Pump:
    """Reads what is new in the stream and feeds it to consumers.

    ``batch``: records of a batch. ``shards``: over how many shards items are spread; each gets a
    batch in turn.
    """

    dynamodb: DynamoDBClient
    endpoint: str
    table_name: str
    consumers: Sequence[Consumer]
    batch: int = BATCH
    shards: int = 1
    begin: str = "TRIM_HORIZON"
    _iterator: str = field(default="", init=False)

    def run(self) -> int:
        """Feed all that is in the stream, and all that comes of it; how many records it fed."""
        fed = 0
        waiting: list[dict[str, Any]] = []
        while waiting := waiting + self._read():
            taken = self.batch * self.shards
            for number in range(self.shards):
                fed += self._feed(
                    [each for each in waiting[:taken] if self._choose_shard(each) == number],
                    SHARD if self.shards == 1 else f"{SHARD}-{number}",
                )
            waiting = waiting[taken:]
        return fed

    def _choose_shard(self, record: Mapping[str, Any]) -> int:
        partition = record["dynamodb"]["Keys"]["PK"]["S"]
        return zlib.crc32(partition.encode()) % self.shards

    def _feed(self, records: Sequence[dict[str, Any]], shard: str = SHARD) -> int:
        fed = 0
        for consumer in self.consumers:
            wanted = [record for record in records if consumer.wants(record)]
            if wanted:
                answer = consumer.handler(_event(wanted, shard), Context())
                assert answer["batchItemFailures"] == [], answer
                fed += len(wanted)
        return fed

    def _read(self) -> list[dict[str, Any]]:
        """Up to 1,000 records that were not read yet; Dynoxide has one shard a table."""
        if not self._iterator:
            stream = self._streams.describe_stream(StreamArn=self._arn)["StreamDescription"]
            (shard,) = stream["Shards"]
            found = self._streams.get_shard_iterator(
                StreamArn=self._arn, ShardId=shard["ShardId"], ShardIteratorType=self.begin
            )
            self._iterator = found["ShardIterator"]
        answer = self._streams.get_records(ShardIterator=self._iterator, Limit=BATCH)
        self._iterator = answer["NextShardIterator"]
        return [_record(each, self._arn) for each in answer["Records"]]

    @cached_property
    def _arn(self) -> str:
        table = self.dynamodb.describe_table(TableName=self.table_name)["Table"]
        return table["LatestStreamArn"]

    @cached_property
    def _streams(self) -> Any:
        config = Config(retries={"total_max_attempts": 1})
        return boto3.client(
            "dynamodbstreams", endpoint_url=self.endpoint, region_name=REGION, config=config
        )


def _event(records: Sequence[Mapping[str, Any]], shard: str) -> dict[str, Any]:
    return {
        "Records": records,
        "window": {"start": "2026-11-21T00:00:00Z", "end": "2026-11-21T00:02:00Z"},
        "state": {},
        "shardId": shard,
        "eventSourceARN": records[0]["eventSourceARN"],
        "isFinalInvokeForWindow": False,
        "isWindowTerminatedEarly": False,
    }


def _record(record: Any, arn: str) -> dict[str, Any]:
    """A record as Lambda writes it: JSON, its time in seconds."""
    change = dict(record["dynamodb"])
    change["ApproximateCreationDateTime"] = change["ApproximateCreationDateTime"].timestamp()
    identity = record.get("userIdentity")
    return {
        "eventID": record["eventID"],
        "eventName": record["eventName"],
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": REGION,
        "dynamodb": change,
        "eventSourceARN": arn,
        **({"userIdentity": identity} if identity else {}),
    }
