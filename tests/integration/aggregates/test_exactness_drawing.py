"""The schedule of docs/images/exactness.svg, played on a table: what each of the three counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mypy_boto3_dynamodb import DynamoDBClient

from daicho.runtime.retry import RetryBudget
from daicho.storage.table import Table
from daicho.stream.projector import Projector
from daicho.stream.records import Batch
from daicho.tally.reader import read_live_amount
from tests.support.memory_stores import MemoryBucket
from tests.support.sample_ledger import LEDGER, build_image, build_tally_key

ATTEMPT_A, ATTEMPT_B = (101, 102), (101, 102, 103)
SCHEDULE = (ATTEMPT_A, ATTEMPT_B, ATTEMPT_A)
"""The answer to the first is lost, so the second comes; then the SDK repeats the first request."""

Write = Callable[[Sequence[int]], None]


def counts(write: Write, read: Callable[[], int]) -> list[int]:
    """What stands after each write of the schedule."""
    found = []
    for numbers in SCHEDULE:
        write(numbers)
        found.append(read())
    return found


def counter(dynamodb: DynamoDBClient, table_name: str, condition: str) -> list[int]:
    """What a counter of one item counts under a condition."""
    key = {"PK": {"S": "counter"}, "SK": {"S": "-"}}

    def write(numbers: Sequence[int]) -> None:
        values = {":delta": {"N": str(len(numbers))}, ":last": {"N": str(numbers[-1])}}
        try:
            dynamodb.update_item(
                TableName=table_name,
                Key=key,
                UpdateExpression="SET seq = :last ADD n :delta",
                ConditionExpression=condition,
                ExpressionAttributeValues=values,
            )
        except dynamodb.exceptions.ConditionalCheckFailedException:
            return  # taken for done

    def read() -> int:
        return int(dynamodb.get_item(TableName=table_name, Key=key)["Item"]["n"]["N"])

    return counts(write, read)


def test_a_plain_add_counts_every_delivery(dynamodb: DynamoDBClient, table_name: str) -> None:
    always = "attribute_not_exists(PK) OR attribute_exists(PK)"
    assert counter(dynamodb, table_name, always) == [2, 5, 7]


def test_a_fence_on_the_last_number_lets_the_longer_batch_in(
    dynamodb: DynamoDBClient, table_name: str
) -> None:
    behind = "attribute_not_exists(seq) OR seq < :last"
    assert counter(dynamodb, table_name, behind) == [2, 5, 5]


def test_daicho_counts_what_lies_behind(dynamodb: DynamoDBClient, table_name: str) -> None:
    table = Table(dynamodb, table_name)
    projector = Projector(table, MemoryBucket(), LEDGER, dirty_shards=1)

    def write(numbers: Sequence[int]) -> None:
        assert projector.project(batch(numbers), RetryBudget.for_seconds(3_600)) is None

    def read() -> int:
        return read_live_amount(table, build_tally_key("Download", "alive", 1, "heroes")).items

    assert counts(write, read) == [2, 3, 3]


def batch(numbers: Sequence[int]) -> Batch:
    """Downloads of one song."""
    records = []
    for number in numbers:
        at = {"song": "heroes", "id": str(number), "at": "2026-11-21T00:00:00Z"}
        download = build_image("Download", at)
        change = {
            "Keys": {name: download[name] for name in ("PK", "SK")},
            "NewImage": download,
            "SequenceNumber": str(number),
            "ApproximateCreationDateTime": 1795223140,
        }
        source = "arn:…/stream/2026-11-21T00:00:00.000"
        records.append({"eventName": "INSERT", "eventSourceARN": source, "dynamodb": change})
    return Batch.parse({"shardId": "s", "Records": records})
