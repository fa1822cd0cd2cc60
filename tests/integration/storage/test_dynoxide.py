"""The table of the integration tests behaves as the code under test expects of DynamoDB."""

from __future__ import annotations

from typing import TYPE_CHECKING

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.support.dynoxide import REGION

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def test_each_test_has_an_empty_table_with_the_indexes(
    dynamodb: DynamoDBClient, table_name: str
) -> None:
    table = dynamodb.describe_table(TableName=table_name)["Table"]
    assert {index["IndexName"] for index in table["GlobalSecondaryIndexes"]} == {
        "GSI1",
        "GSI2",
        "GSI3",
    }
    assert dynamodb.scan(TableName=table_name)["Count"] == 0


def test_the_stream_carries_both_images(
    dynamo: str, dynamodb: DynamoDBClient, table_name: str
) -> None:
    key = {"PK": {"S": "acme#Song#1"}, "SK": {"S": "-"}}
    dynamodb.put_item(TableName=table_name, Item={**key, "title": {"S": "Heroes"}})
    dynamodb.delete_item(TableName=table_name, Key=key)
    streams = boto3.client("dynamodbstreams", endpoint_url=dynamo, region_name=REGION)
    arn = dynamodb.describe_table(TableName=table_name)["Table"]["LatestStreamArn"]
    shards = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    start = streams.get_shard_iterator(
        StreamArn=arn, ShardId=shards[0]["ShardId"], ShardIteratorType="TRIM_HORIZON"
    )["ShardIterator"]
    records = streams.get_records(ShardIterator=start)["Records"]
    streams.close()
    assert [record["eventName"] for record in records] == ["INSERT", "REMOVE"]
    assert records[1]["dynamodb"]["OldImage"]["title"] == {"S": "Heroes"}


def test_a_refused_condition_returns_the_old_item(
    dynamodb: DynamoDBClient, table_name: str
) -> None:
    item = {"PK": {"S": "p"}, "SK": {"S": "s"}, "seq": {"S": "2"}}
    dynamodb.put_item(TableName=table_name, Item=item)
    with pytest.raises(ClientError) as refused:
        dynamodb.put_item(
            TableName=table_name,
            Item={**item, "seq": {"S": "1"}},
            ConditionExpression="seq < :seq",
            ExpressionAttributeValues={":seq": {"S": "1"}},
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert refused.value.response["Item"]["seq"] == {"S": "2"}  # type: ignore[typeddict-item]
