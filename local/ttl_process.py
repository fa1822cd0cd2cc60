"""DynamoDB's TTL process, played: the local AWS would delete without a stream record.

An expired item is first marked (``_ttl_expired``, the ``ttl`` it was marked for), then deleted,
each on the condition that its ``ttl`` is still the one that was read. The stream functions of
stage local take a removal whose old image carries a mark equal to its ``ttl`` for DynamoDB's own.
Stopped between the two steps, the next sweep finds the item once more: marking again changes
nothing, and it is deleted, and delivered, once.

It may be played ahead of time: as if it was another moment. Then the mark says so too
(``_ttl_expired_at``), and the deletion bears that time.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from local.instance import LocalInstance

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

MARK, AT_MARK = "_ttl_expired", "_ttl_expired_at"
DAY = 86_400
REST = 10
"""Between two sweeps it rests this many times as long as a sweep took: at most a tenth of a core
goes into it, however large the table is."""
FAILURES = 100


def delete_expired(dynamodb: DynamoDBClient, table: str, now: float | None = None) -> int:
    """Expire every item whose ``ttl`` is past, whatever its kind; how many were deleted.

    ``now``: as if it was then, in epoch seconds; the deletions bear that time.
    """
    moment = int(time.time() if now is None else now)
    found = _list_expired(dynamodb, table, moment)
    return sum(_expire(dynamodb, table, item, None if now is None else moment) for item in found)


def run_process(
    dynamodb: DynamoDBClient,
    table: str,
    days: int,
    entities: Collection[str] = (),
    now: float | None = None,
) -> Iterator[int]:
    """Play so many days ahead, one after the other; gives how many items each of them deleted.

    Items of entities alone, of ``entities`` if any are named: what the library itself lets expire
    waits for that much time to have passed, and it has not. ``now``: what they are ahead of, in
    epoch seconds.
    """
    began = int(time.time() if now is None else now)
    for day in range(1, days + 1):
        moment = began + day * DAY
        found = _list_expired(dynamodb, table, moment)
        chosen = (
            item
            for item in found
            if "type" in item and (not entities or item["type"]["S"] in entities)
        )
        yield sum(_expire(dynamodb, table, item, moment) for item in chosen)


def sweep_place(place: LocalInstance) -> int:
    """One sweep over the deployed table."""
    return delete_expired(_open_client(place), place.stack()["table"])


def play_place(place: LocalInstance, days: int, entities: Collection[str] = ()) -> Iterator[int]:
    """`play` over the deployed table."""
    return run_process(_open_client(place), place.stack()["table"], days, entities)


def run(place: LocalInstance, every: float) -> None:
    """Sweep until the local AWS has not answered for a while; a single failure is nothing."""
    dynamodb, table = _open_client(place), place.stack()["table"]
    failures = 0
    while failures < FAILURES:
        began = time.monotonic()
        try:
            deleted = delete_expired(dynamodb, table)
        except Exception as error:  # nobody watches: say it and go on
            failures += 1
            print(f"{type(error).__name__}: {error}", flush=True)  # noqa: T201 - its log file
        else:
            failures = 0
            if deleted:
                print(f"expired {deleted}", flush=True)  # noqa: T201
        time.sleep(max(every, REST * (time.monotonic() - began)))


def _open_client(place: LocalInstance) -> DynamoDBClient:
    return place.session().client("dynamodb", endpoint_url=place.endpoint)


def _list_expired(dynamodb: DynamoDBClient, table: str, now: int) -> Iterator[dict[str, Any]]:
    pages = dynamodb.get_paginator("scan").paginate(
        TableName=table,
        ProjectionExpression="PK, SK, #ttl, #type",
        FilterExpression="#ttl < :now",
        ExpressionAttributeNames={"#ttl": "ttl", "#type": "type"},
        ExpressionAttributeValues={":now": {"N": str(now)}},
    )
    for page in pages:
        yield from page["Items"]


def _expire(dynamodb: DynamoDBClient, table: str, item: dict[str, Any], at: int | None) -> bool:
    """Mark and delete one item; ``at``: the time that its deletion is to bear, if not now's."""
    key = {"PK": item["PK"], "SK": item["SK"]}
    change, names, values = (
        "SET #mark = :ttl",
        {"#ttl": "ttl", "#mark": MARK},
        {":ttl": item["ttl"]},
    )
    if at is not None:
        change, names["#at"], values[":at"] = f"{change}, #at = :at", AT_MARK, {"N": str(at)}
    try:
        dynamodb.update_item(
            TableName=table,
            Key=key,
            UpdateExpression=change,
            ConditionExpression="#ttl = :ttl",
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=values,
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
