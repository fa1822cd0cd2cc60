"""Events of a table's stream, as Lambda hands them over, with records of given changes."""

from __future__ import annotations

from typing import Any

from daicho.storage.attributes import Image, get_key
from daicho.stream.records import Batch

LABEL = "2026-11-21T00:00:00.000"
ARN = f"arn:aws:dynamodb:us-east-1:000000000000:table/daicho/stream/{LABEL}"
WRITTEN_AT = 1795223140  # 2026-11-21 01:05:40

Change = tuple[Image | None, Image | None]
"""An item's image before and after a change; None where there is no item."""


def build_raw_record(number: int, change: Change, at: float = WRITTEN_AT) -> dict[str, Any]:
    """The record of a change, as the stream delivers it."""
    old, new = change
    key = get_key(new or old or {})
    return {
        "eventName": "INSERT" if not old else "MODIFY" if new else "REMOVE",
        "eventSourceARN": ARN,
        "dynamodb": {
            "Keys": {"PK": {"S": key.pk}, "SK": {"S": key.sk}},
            "SequenceNumber": str(number),
            "ApproximateCreationDateTime": at,
            **({"OldImage": old} if old else {}),
            **({"NewImage": new} if new else {}),
        },
    }


def build_event(*changes: Change, first: int = 1) -> dict[str, Any]:
    """The event of these changes, numbered from ``first`` on."""
    records = [build_raw_record(number, change) for number, change in enumerate(changes, first)]
    return {"shardId": "s", "Records": records}


def build_batch(*changes: Change, first: int = 1) -> Batch:
    """The batch of these changes."""
    return Batch.parse(build_event(*changes, first=first))
