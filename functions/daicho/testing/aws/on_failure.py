"""The object that Lambda puts into an S3 on-failure destination when it discards a batch.

Source: "Retain discarded records for a DynamoDB event source in Lambda", AWS Lambda Developer
Guide. The guide does not print the condition of a batch that was too old; the one here was observed
in such objects.
"""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from daicho.testing.aws.mapping_settings import MappingSettings

RETRIES_EXHAUSTED = "RetryAttemptsExhausted"
RECORD_TOO_OLD = "RecordAgeExceeded"


def build_failure_object(
    settings: MappingSettings,
    stream_arn: str,
    shard: str,
    event: Mapping[str, Any],
    at: dt.datetime,
    condition: str,
    *,
    invocation_count: int,
    has_function_error: bool,
) -> tuple[str, bytes]:
    """The object's name and its JSON. The name's random part is computed from the batch.

    Args:
        settings: of the mapping.
        stream_arn: of the mapping's stream.
        shard: of the batch.
        event: with the records that are discarded.
        at: the time at which they are discarded.
        condition: why they are discarded.
        invocation_count: how often the function was called with the batch.
        has_function_error: whether the last of these calls ended in an error of the function, not
            in a report of failures.
    """
    records = event["Records"]
    first, last = records[0]["dynamodb"], records[-1]["dynamodb"]
    subject = "/".join((settings.uuid, shard, first["SequenceNumber"], last["SequenceNumber"]))
    name_uuid = uuid.uuid5(uuid.NAMESPACE_URL, f"{subject}/{at.isoformat()}")
    name = f"aws/lambda/{settings.uuid}/{shard}/{at:%Y/%m/%d}/{at:%Y-%m-%dT%H.%M.%S}-{name_uuid}"
    body: dict[str, Any] = {
        "requestContext": {
            "requestId": str(uuid.uuid5(name_uuid, "request")),
            "functionArn": settings.function_arn,
            "condition": condition,
            "approximateInvokeCount": invocation_count,
        },
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST"},
        "version": "1.0",
        "timestamp": f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z",
        "DDBStreamBatchInfo": {
            "shardId": shard,
            "startSequenceNumber": first["SequenceNumber"],
            "endSequenceNumber": last["SequenceNumber"],
            "approximateArrivalOfFirstRecord": render_time(_seconds(first)),
            "approximateArrivalOfLastRecord": render_time(_seconds(last)),
            "batchSize": len(records),
            "streamArn": stream_arn,
        },
        "payload": json.dumps(event),
    }
    if has_function_error:
        body["responseContext"]["functionError"] = "Unhandled"
    if not invocation_count:
        del body["responseContext"]
    return name, json.dumps(body).encode()


@lru_cache
def render_time(seconds: float) -> str:
    """Epoch seconds as events and objects write them."""
    return f"{dt.datetime.fromtimestamp(seconds, dt.UTC):%Y-%m-%dT%H:%M:%SZ}"


def _seconds(change: dict[str, Any]) -> float:
    return float(change["ApproximateCreationDateTime"])
