"""The object that Lambda puts into an S3 on-failure destination when it discards a batch.

Source: "Retain discarded records for a DynamoDB event source in Lambda", AWS Lambda Developer
Guide. The guide does not print the condition of a batch that was too old; the one here was observed
in such objects.
"""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

RETRIES_EXHAUSTED = "RetryAttemptsExhausted"
RECORD_TOO_OLD = "RecordAgeExceeded"


@dataclass(frozen=True)
class DiscardedBatch:
    """A batch that is discarded.

    ``invocation_count``: how often the function was called with it. ``has_function_error``: whether
    the last of these calls ended in an error of the function, not in a report of failures.
    """

    mapping_uuid: str
    function_arn: str
    stream_arn: str
    shard: str
    records: Sequence[dict[str, Any]]
    event: dict[str, Any]
    condition: str
    invocation_count: int
    has_function_error: bool
    discarded_at: dt.datetime


def build_failure_object(batch: DiscardedBatch) -> tuple[str, bytes]:
    """The object's name and its JSON. The name's random part is computed from the batch."""
    first, last = (record["dynamodb"] for record in (batch.records[0], batch.records[-1]))
    subject = "/".join(
        (batch.mapping_uuid, batch.shard, first["SequenceNumber"], last["SequenceNumber"])
    )
    name_uuid = uuid.uuid5(uuid.NAMESPACE_URL, f"{subject}/{batch.discarded_at.isoformat()}")
    name = (
        f"aws/lambda/{batch.mapping_uuid}/{batch.shard}/{batch.discarded_at:%Y/%m/%d}/"
        f"{batch.discarded_at:%Y-%m-%dT%H.%M.%S}-{name_uuid}"
    )
    milliseconds = batch.discarded_at.microsecond // 1000
    body: dict[str, Any] = {
        "requestContext": {
            "requestId": str(uuid.uuid5(name_uuid, "request")),
            "functionArn": batch.function_arn,
            "condition": batch.condition,
            "approximateInvokeCount": batch.invocation_count,
        },
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST"},
        "version": "1.0",
        "timestamp": f"{batch.discarded_at:%Y-%m-%dT%H:%M:%S}.{milliseconds:03}Z",
        "DDBStreamBatchInfo": {
            "shardId": batch.shard,
            "startSequenceNumber": first["SequenceNumber"],
            "endSequenceNumber": last["SequenceNumber"],
            "approximateArrivalOfFirstRecord": render_time(_seconds(first)),
            "approximateArrivalOfLastRecord": render_time(_seconds(last)),
            "batchSize": len(batch.records),
            "streamArn": batch.stream_arn,
        },
        "payload": json.dumps(batch.event),
    }
    if batch.has_function_error:
        body["responseContext"]["functionError"] = "Unhandled"
    if not batch.invocation_count:
        del body["responseContext"]
    return name, json.dumps(body).encode()


@lru_cache
def render_time(seconds: float) -> str:
    """Epoch seconds as events and objects write them."""
    return f"{dt.datetime.fromtimestamp(seconds, dt.UTC):%Y-%m-%dT%H:%M:%SZ}"


def _seconds(change: dict[str, Any]) -> float:
    return float(change["ApproximateCreationDateTime"])
