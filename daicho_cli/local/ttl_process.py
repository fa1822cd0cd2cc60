"""A simulation of DynamoDB's TTL process: the local AWS would delete without a stream record.

A sweep first marks an expired item (``_ttl_expired``, with the ``ttl`` of the mark), and then
deletes it. Both writes have the condition that the ``ttl`` is still the one that was read. The
stream functions of stage local treat a removal as DynamoDB's own if the mark in the old image is
equal to its ``ttl``. If a sweep stops between the two steps, the next sweep finds the item again.
The second mark changes nothing, and the item is deleted and delivered once.

The simulation can run ahead of time, for another moment. Then a second mark (``_ttl_expired_at``)
contains that moment, and it is the time of the deletion.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from daicho.layout.heartbeats import is_heartbeat
from daicho_cli.local.fast_table import EXPIRED
from daicho_cli.local.instance import LocalInstance

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

MARK, AT_MARK = "_ttl_expired", "_ttl_expired_at"
DAY = 86_400
REST = 10
"""The pause between two sweeps, as a multiple of the duration of a sweep. The sweeps use at most a
tenth of a core for any size of the table."""
FAILURES = 100


def delete_expired(dynamodb: DynamoDBClient, table: str, now: float | None = None) -> int:
    """Expire every item of any kind whose ``ttl`` is past; return the number of deletions.

    ``now``: the simulated time in epoch seconds, which is also the time of the deletions.
    """
    instant = int(time.time() if now is None else now)
    items = _list_expired(dynamodb, table, instant)
    return sum(_expire(dynamodb, table, item, None if now is None else instant) for item in items)


def run_process(
    dynamodb: DynamoDBClient,
    table: str,
    days: int,
    entities: Collection[str] = (),
    now: float | None = None,
) -> Iterator[int]:
    """Simulate the next days, one after the other; yield the number of deletions of each day.

    Only items of entities expire, of ``entities`` if any are given. The library's own expiring
    items depend on real time, which has not passed. ``now``: the start of the days, in epoch
    seconds.
    """
    began = int(time.time() if now is None else now)
    for day in range(1, days + 1):
        instant = began + day * DAY
        items = _list_expired(dynamodb, table, instant)
        due = (
            item
            for item in items
            if "type" in item and not is_heartbeat(item)
            if not entities or item["type"]["S"] in entities
        )
        yield sum(_expire(dynamodb, table, item, instant) for item in due)


def delete_expired_now(instance: LocalInstance) -> int:
    """One sweep over the deployed table."""
    return delete_expired(_open_client(instance), instance.stack()["table"])


def simulate_days(
    instance: LocalInstance, days: int, entities: Collection[str] = ()
) -> Iterator[int]:
    """`run_process` over the deployed table."""
    return run_process(_open_client(instance), instance.stack()["table"], days, entities)


def run(instance: LocalInstance, interval: float) -> None:
    """Sweep until the local AWS has failed many times in succession."""
    dynamodb, table = _open_client(instance), instance.stack()["table"]
    failures = 0
    while failures < FAILURES:
        began = time.monotonic()
        try:
            deleted = delete_expired(dynamodb, table)
        except Exception as error:  # an unattended process: log the error and continue
            failures += 1
            print(f"{type(error).__name__}: {error}", flush=True)  # noqa: T201 - its log file
        else:
            failures = 0
            if deleted:
                print(f"expired {deleted}", flush=True)  # noqa: T201
        time.sleep(max(interval, REST * (time.monotonic() - began)))


def _open_client(instance: LocalInstance) -> DynamoDBClient:
    return instance.session().client("dynamodb", endpoint_url=instance.endpoint)


def _list_expired(dynamodb: DynamoDBClient, table: str, now: int) -> Iterator[dict[str, Any]]:
    pages = dynamodb.get_paginator("scan").paginate(
        TableName=table,
        ProjectionExpression="PK, SK, #ttl, #type",
        FilterExpression=EXPIRED,
        ExpressionAttributeNames={"#ttl": "ttl", "#type": "type"},
        ExpressionAttributeValues={":now": {"N": str(now)}},
    )
    for page in pages:
        yield from page["Items"]


def _expire(dynamodb: DynamoDBClient, table: str, item: dict[str, Any], at: int | None) -> bool:
    """Mark and delete one item; ``at``: the time of its deletion, if it is not the current time."""
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
