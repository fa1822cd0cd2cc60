"""DynamoDB's TTL process, played: what expires, and what the stream says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import boto3
import pytest

from daicho_cli.local.ttl_process import AT_MARK, DAY, MARK, delete_expired, run_process
from tests.support.dynoxide import REGION

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

NOW = 1_800_000_000


class Stopped(Exception):
    """The process is stopped here."""


def put(dynamodb: DynamoDBClient, table: str, name: str, ttl: int | None, **more: str) -> None:
    item: dict[str, Any] = {"PK": {"S": name}, "SK": {"S": "-"}}
    item |= {key: {"S": value} for key, value in more.items()}
    dynamodb.put_item(
        TableName=table, Item=item if ttl is None else {**item, "ttl": {"N": str(ttl)}}
    )


def names(dynamodb: DynamoDBClient, table: str) -> set[str]:
    return {item["PK"]["S"] for item in dynamodb.scan(TableName=table)["Items"]}


def removals(endpoint: str, dynamodb: DynamoDBClient, table: str) -> list[dict[str, Any]]:
    streams = boto3.client("dynamodbstreams", endpoint_url=endpoint, region_name=REGION)
    arn = dynamodb.describe_table(TableName=table)["Table"]["LatestStreamArn"]
    shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    start = streams.get_shard_iterator(
        StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON"
    )["ShardIterator"]
    records = streams.get_records(ShardIterator=start)["Records"]
    streams.close()
    return [dict(r["dynamodb"]["OldImage"]) for r in records if r["eventName"] == "REMOVE"]


def test_items_of_any_kind_expire_and_no_others(
    dynamo: str, dynamodb: DynamoDBClient, table_name: str
) -> None:
    put(dynamodb, table_name, "message", NOW - 1, type="Message")
    put(dynamodb, table_name, "tombstone", NOW - 86_400)
    put(dynamodb, table_name, "fresh", NOW + 1, type="Message")
    put(dynamodb, table_name, "song", None, type="Song")
    assert delete_expired(dynamodb, table_name, NOW) == 2
    assert names(dynamodb, table_name) == {"fresh", "song"}
    assert delete_expired(dynamodb, table_name, NOW) == 0
    # The mark equals the ttl: that is how the stream functions know DynamoDB's removals here.
    assert all(old[MARK] == old["ttl"] for old in removals(dynamo, dynamodb, table_name))


def test_what_is_renewed_in_between_stays(
    dynamodb: DynamoDBClient, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(dynamodb, table_name, "message", NOW - 1)
    mark = dynamodb.update_item

    def mark_then_renew(**request: Any) -> Any:
        answer = mark(**request)
        put(dynamodb, table_name, "message", NOW + 60)
        return answer

    monkeypatch.setattr(dynamodb, "update_item", mark_then_renew)
    assert delete_expired(dynamodb, table_name, NOW) == 0
    assert names(dynamodb, table_name) == {"message"}


def test_what_is_deleted_in_between_does_not_come_back(
    dynamodb: DynamoDBClient, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(dynamodb, table_name, "message", NOW - 1)
    mark = dynamodb.update_item

    def delete_then_mark(**request: Any) -> Any:
        dynamodb.delete_item(TableName=table_name, Key=request["Key"])
        return mark(**request)

    monkeypatch.setattr(dynamodb, "update_item", delete_then_mark)
    assert delete_expired(dynamodb, table_name, NOW) == 0
    assert names(dynamodb, table_name) == set()


def test_stopped_between_mark_and_removal_it_is_delivered_once(
    dynamo: str, dynamodb: DynamoDBClient, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(dynamodb, table_name, "message", NOW - 1)

    def stop(**_: Any) -> None:
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(dynamodb, "delete_item", stop)
        with pytest.raises(Stopped):
            delete_expired(dynamodb, table_name, NOW)
    assert delete_expired(dynamodb, table_name, NOW) == 1
    assert len(removals(dynamo, dynamodb, table_name)) == 1


def test_days_are_played_ahead_one_after_the_other(
    dynamo: str, dynamodb: DynamoDBClient, table_name: str
) -> None:
    for name, kind, days in (("a", "Message", 0.5), ("b", "Message", 2.5), ("c", "Download", 2.5)):
        put(dynamodb, table_name, name, NOW + int(days * DAY), type=kind)
    put(dynamodb, table_name, "tombstone", NOW + DAY)
    put(dynamodb, table_name, "later", NOW + 9 * DAY, type="Message")
    assert list(run_process(dynamodb, table_name, 3, ["Message"], NOW)) == [1, 0, 1]
    assert names(dynamodb, table_name) == {"c", "tombstone", "later"}
    assert list(run_process(dynamodb, table_name, 3, now=NOW)) == [0, 0, 1]
    told = [
        (old["PK"]["S"], int(old[AT_MARK]["N"]) - NOW)
        for old in removals(dynamo, dynamodb, table_name)
    ]
    assert told == [("a", DAY), ("b", 3 * DAY), ("c", 3 * DAY)]
