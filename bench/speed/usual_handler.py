"""The usual handler of a table's stream: one update a record.

It is written as the documentation of Powertools shows it, with `BatchProcessor`.
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


def build_usual_handler() -> Handler:
    """Add each new item to the total of its group: one update a record.

    A change of the group is counted in the new one only, so that the peer does as little as it can.
    """
    table = boto3.client("dynamodb")

    def record_handler(record: DynamoDBRecord) -> None:
        change = record.dynamodb
        new = change.new_image if change else None
        if new:
            table.update_item(
                TableName="daicho",
                Key={"PK": {"S": f"total#{new['group']}"}, "SK": {"S": "total"}},
                UpdateExpression="ADD #items :items, #total :total",
                ExpressionAttributeNames={"#items": "items", "#total": "total"},
                ExpressionAttributeValues={
                    ":items": {"N": "1"},
                    ":total": {"N": str(new["amount"])},
                },
            )

    processor = BatchProcessor(event_type=EventType.DynamoDBStreams)

    def handler(event: Mapping[str, Any], context: Any) -> Any:
        return process_partial_response(
            event=event,  # type: ignore[arg-type]
            record_handler=record_handler,
            processor=processor,
            context=context,
        )

    return handler
