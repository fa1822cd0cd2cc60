"""The stream of a Dynoxide table, handed to real handlers as Lambda's event source mapping would.

In order, each record once; faults are the delivery tests' matter. An event is what Lambda sends to
a mapping with a tumbling window, so it names its shard.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from mypy_boto3_dynamodb import DynamoDBClient

from handlers.consumer import Handler
from tests.dynoxide import REGION

BATCH = 1_000
SHARD = "shardId-00000000000000000000-00000001"


class Context:
    """A Lambda context with time enough."""

    function_name = "test"
    function_version = "$LATEST"
    invoked_function_arn = f"arn:aws:lambda:{REGION}:000000000000:function:test"
    memory_limit_in_mb = 512
    aws_request_id = "00000000-0000-0000-0000-000000000000"

    def get_remaining_time_in_millis(self) -> int:
        return 120_000


def environment(table_name: str, **more: str) -> dict[str, str]:
    """What the stack tells its functions. Their clients find Dynoxide by AWS_ENDPOINT_URL."""
    return {"TABLE_NAME": table_name, "STAGE": "dev", "DIRTY_SHARDS": "4", **more}


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

    ``database``: Dynoxide's file, for much data. A write to Dynoxide takes the longer the more
    stream records it keeps, and it keeps all: what was read is then forgotten, as DynamoDB does
    after a day, and the stream is off while handlers write what nobody reads.
    """

    dynamodb: DynamoDBClient
    endpoint: str
    table_name: str
    consumers: Sequence[Consumer]
    batch: int = BATCH
    database: Path | None = None
    _iterator: str = field(default="", init=False)
    _last: str = field(default="", init=False)

    def run(self) -> int:
        """Feed all that is in the stream, and all that comes of it; how many records it fed."""
        fed = 0
        while records := list(self._new_records()):
            with self.quiet():
                for begin in range(0, len(records), self.batch):
                    fed += self._feed(records[begin : begin + self.batch])
        return fed

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """The stream is off, if this pump may do that: for writes that no consumer waits for."""
        if self.database is None:
            yield
            return
        assert not list(self._new_records()), "records that nobody was fed yet"
        view: Any = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
        self.dynamodb.update_table(
            TableName=self.table_name, StreamSpecification={"StreamEnabled": False}
        )
        yield
        self.dynamodb.update_table(TableName=self.table_name, StreamSpecification=view)
        self._iterator = ""

    def _feed(self, records: Sequence[dict[str, Any]]) -> int:
        fed = 0
        for consumer in self.consumers:
            wanted = [record for record in records if consumer.wants(record)]
            if wanted:
                answer = consumer.handler(_event(wanted), Context())
                assert answer["batchItemFailures"] == [], answer
                fed += len(wanted)
        return fed

    def _new_records(self) -> Iterator[dict[str, Any]]:
        """The records that were not read yet, to the end; Dynoxide has one shard a table."""
        arn = self.dynamodb.describe_table(TableName=self.table_name)["Table"]["LatestStreamArn"]
        if not self._iterator:
            (shard,) = self._streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
            start = {"ShardIteratorType": "TRIM_HORIZON"}
            if self._last:
                start = {
                    "ShardIteratorType": "AFTER_SEQUENCE_NUMBER",
                    "SequenceNumber": self._last,
                }
            found = self._streams.get_shard_iterator(
                StreamArn=arn, ShardId=shard["ShardId"], **start
            )
            self._iterator = found["ShardIterator"]
        while True:
            answer = self._streams.get_records(ShardIterator=self._iterator, Limit=BATCH)
            self._iterator = answer["NextShardIterator"]
            if not answer["Records"]:
                return
            self._last = answer["Records"][-1]["dynamodb"]["SequenceNumber"]
            self._forget()
            yield from (_record(each, arn) for each in answer["Records"])

    def _forget(self) -> None:
        if self.database is None:
            return
        # The last one stays: the next number is counted from it.
        with closing(sqlite3.connect(str(self.database), timeout=30)) as database, database:
            database.execute(
                "DELETE FROM _stream_records WHERE table_name = ?"
                " AND CAST(sequence_number AS INTEGER) < CAST(? AS INTEGER)",
                (self.table_name, self._last),
            )

    @cached_property
    def _streams(self) -> Any:
        # Dynoxide's sequence numbers are shorter than DynamoDB's, which boto3 validates.
        config = Config(retries={"total_max_attempts": 1}, parameter_validation=False)
        return boto3.client(
            "dynamodbstreams", endpoint_url=self.endpoint, region_name=REGION, config=config
        )


def _event(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "Records": records,
        "window": {"start": "2026-11-21T00:00:00Z", "end": "2026-11-21T00:02:00Z"},
        "state": {},
        "shardId": SHARD,
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
