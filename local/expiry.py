"""DynamoDB's TTL process, played: the local AWS would delete without a stream record.

An expired item is first marked (``_ttl_expired``, the ``ttl`` it was marked for), then deleted,
each on the condition that its ``ttl`` is still the one that was read. The stream functions of
stage local take a removal whose old image carries a mark equal to its ``ttl`` for DynamoDB's own.
Stopped between the two steps, the next sweep finds the item once more: marking again changes
nothing, and it is deleted, and delivered, once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from local.place import Place

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

MARK = "_ttl_expired"
REST = 10
"""Between two sweeps it rests this many times as long as a sweep took: at most a tenth of a core
goes into it, however large the table is."""
FAILURES = 100


def sweep(dynamodb: DynamoDBClient, table: str, now: float | None = None) -> int:
    """Expire every item whose ``ttl`` is past, whatever its kind; how many were deleted."""
    moment = time.time() if now is None else now
    return sum(_expire(dynamodb, table, item) for item in _expired(dynamodb, table, int(moment)))


def sweep_place(place: Place) -> int:
    """One sweep over the deployed table."""
    return sweep(_client(place), place.stack()["table"])


def run(place: Place, every: float) -> None:
    """Sweep until the local AWS has not answered for a while; a single failure is nothing."""
    dynamodb, table = _client(place), place.stack()["table"]
    failures = 0
    while failures < FAILURES:
        began = time.monotonic()
        try:
            deleted = sweep(dynamodb, table)
        except Exception as error:  # nobody watches: say it and go on
            failures += 1
            print(f"{type(error).__name__}: {error}", flush=True)  # noqa: T201 - its log file
        else:
            failures = 0
            if deleted:
                print(f"expired {deleted}", flush=True)  # noqa: T201
        time.sleep(max(every, REST * (time.monotonic() - began)))


def _client(place: Place) -> DynamoDBClient:
    return place.session().client("dynamodb", endpoint_url=place.endpoint)


def _expired(dynamodb: DynamoDBClient, table: str, now: int) -> Iterator[dict[str, Any]]:
    pages = dynamodb.get_paginator("scan").paginate(
        TableName=table,
        ProjectionExpression="PK, SK, #ttl",
        FilterExpression="#ttl < :now",
        ExpressionAttributeNames={"#ttl": "ttl"},
        ExpressionAttributeValues={":now": {"N": str(now)}},
    )
    for page in pages:
        yield from page["Items"]


def _expire(dynamodb: DynamoDBClient, table: str, item: dict[str, Any]) -> bool:
    key = {"PK": item["PK"], "SK": item["SK"]}
    try:
        dynamodb.update_item(
            TableName=table,
            Key=key,
            UpdateExpression="SET #mark = :ttl",
            ConditionExpression="#ttl = :ttl",
            ExpressionAttributeNames={"#ttl": "ttl", "#mark": MARK},
            ExpressionAttributeValues={":ttl": item["ttl"]},
        )
        dynamodb.delete_item(
            TableName=table,
            Key=key,
            ConditionExpression="#ttl = :ttl",
            ExpressionAttributeNames={"#ttl": "ttl"},
            ExpressionAttributeValues={":ttl": item["ttl"]},
        )
    except dynamodb.exceptions.ConditionalCheckFailedException:
        return False  # renewed or deleted in between: not expired
    return True
