"""What Lambda lays into an S3 on-failure destination when it gives a batch up.

Source: "Retain discarded records for a DynamoDB event source in Lambda", AWS Lambda Developer
Guide. The guide does not print the condition of a batch that was too old; what is here is what
such objects are seen to hold.
"""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

EXHAUSTED = "RetryAttemptsExhausted"
TOO_OLD = "RecordAgeExceeded"


@dataclass(frozen=True)
class GivenUp:
    """A batch that is given up. ``invoked``: how often the function was called with it.

    ``error``: whether the last of those calls ended in a function error, and not in a report of
    failures.
    """

    mapping: str
    function_arn: str
    stream_arn: str
    shard: str
    records: Sequence[dict[str, Any]]
    event: dict[str, Any]
    condition: str
    invoked: int
    error: bool
    at: dt.datetime


def object_of(batch: GivenUp) -> tuple[str, bytes]:
    """The object's name and its JSON. The name's random part follows from what it is about."""
    first, last = (each["dynamodb"] for each in (batch.records[0], batch.records[-1]))
    about = "/".join((batch.mapping, batch.shard, first["SequenceNumber"], last["SequenceNumber"]))
    chance = uuid.uuid5(uuid.NAMESPACE_URL, f"{about}/{batch.at.isoformat()}")
    name = (
        f"aws/lambda/{batch.mapping}/{batch.shard}/{batch.at:%Y/%m/%d}/"
        f"{batch.at:%Y-%m-%dT%H.%M.%S}-{chance}"
    )
    body: dict[str, Any] = {
        "requestContext": {
            "requestId": str(uuid.uuid5(chance, "request")),
            "functionArn": batch.function_arn,
            "condition": batch.condition,
            "approximateInvokeCount": batch.invoked,
        },
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST"},
        "version": "1.0",
        "timestamp": f"{batch.at:%Y-%m-%dT%H:%M:%S}.{batch.at.microsecond // 1000:03}Z",
        "DDBStreamBatchInfo": {
            "shardId": batch.shard,
            "startSequenceNumber": first["SequenceNumber"],
            "endSequenceNumber": last["SequenceNumber"],
            "approximateArrivalOfFirstRecord": instant(_seconds(first)),
            "approximateArrivalOfLastRecord": instant(_seconds(last)),
            "batchSize": len(batch.records),
            "streamArn": batch.stream_arn,
        },
        "payload": json.dumps(batch.event),
    }
    if batch.error:
        body["responseContext"]["functionError"] = "Unhandled"
    if not batch.invoked:
        del body["responseContext"]
    return name, json.dumps(body).encode()


def instant(seconds: float) -> str:
    """Epoch seconds as events and objects write them."""
    return f"{dt.datetime.fromtimestamp(seconds, dt.UTC):%Y-%m-%dT%H:%M:%SZ}"


def _seconds(change: dict[str, Any]) -> float:
    return float(change["ApproximateCreationDateTime"])
