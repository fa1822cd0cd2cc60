"""The usual handlers of a table's stream: one update a record, and one that counts exactly.

Both are written as the documentation of Powertools shows it, with `BatchProcessor`.
Source: "Batch Processing", Powertools for AWS Lambda (Python).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import boto3
from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    process_partial_response,
)
from aws_lambda_powertools.utilities.data_classes.dynamo_db_stream_event import DynamoDBRecord

Handler = Callable[[Mapping[str, Any], Any], Any]
RecordHandler = Callable[[DynamoDBRecord], None]


def build_usual_handler() -> Handler:
    """Add each new item to the total of its group: one update a record.

    A change of the group is counted in the new one only, so that the peer does as little as it can.
    """
    table = boto3.client("dynamodb")

    def record_handler(record: DynamoDBRecord) -> None:
        change = record.dynamodb
        new = change.new_image if change else None
        if new:
            table.update_item(**_add_to_group(new["group"], 1, str(new["amount"])))

    return _build_handler(record_handler)


def build_moving_handler() -> Handler:
    """Also subtract the old image from its group: two updates where both images exist."""
    table = boto3.client("dynamodb")

    def record_handler(record: DynamoDBRecord) -> None:
        change = record.dynamodb
        if change is None:
            return
        if old := change.old_image:
            table.update_item(**_add_to_group(old["group"], -1, str(-old["amount"])))
        if new := change.new_image:
            table.update_item(**_add_to_group(new["group"], 1, str(new["amount"])))

    return _build_handler(record_handler)


def build_marking_handler() -> Handler:
    """Count each event once: its marker and the update of its group are one transaction."""
    table = boto3.client("dynamodb")

    def record_handler(record: DynamoDBRecord) -> None:
        change = record.dynamodb
        new = change.new_image if change else None
        if not new:
            return
        key = {"PK": {"S": f"event#{record.event_id}"}, "SK": {"S": "-"}}
        marker: Any = {
            "TableName": "daicho",
            "Item": {**key, "ttl": {"N": "1795309540"}},
            "ConditionExpression": "attribute_not_exists(PK)",
        }
        update: Any = _add_to_group(new["group"], 1, str(new["amount"]))
        table.transact_write_items(TransactItems=[{"Put": marker}, {"Update": update}])

    return _build_handler(record_handler)


def _build_handler(record_handler: RecordHandler) -> Handler:
    processor = BatchProcessor(event_type=EventType.DynamoDBStreams)

    def handler(event: Mapping[str, Any], context: Any) -> Any:
        return process_partial_response(
            event=event,  # type: ignore[arg-type]
            record_handler=record_handler,
            processor=processor,
            context=context,
        )

    return handler


def _add_to_group(group: str, items: int, amount: str) -> dict[str, Any]:
    return {
        "TableName": "daicho",
        "Key": {"PK": {"S": f"total#{group}"}, "SK": {"S": "total"}},
        "UpdateExpression": "ADD #items :items, #total :total",
        "ExpressionAttributeNames": {"#items": "items", "#total": "total"},
        "ExpressionAttributeValues": {":items": {"N": str(items)}, ":total": {"N": amount}},
    }
