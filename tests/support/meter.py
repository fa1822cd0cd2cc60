"""A meter of the capacity units and requests of a client."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

WRITES = {
    "PutItem",
    "UpdateItem",
    "DeleteItem",
    "BatchWriteItem",
    "BatchExecuteStatement",
    "TransactWriteItems",
}


@dataclass
class Consumed:
    """Capacity units and requests of one block of work."""

    writes: float = 0.0
    reads: float = 0.0
    requests: Counter[str] = field(default_factory=Counter)


class Meter:
    """Registers event handlers at a boto3 DynamoDB client, and counts its requests."""

    def __init__(self, client: Any) -> None:
        self._now = Consumed()
        client.meta.events.register("provide-client-params.dynamodb.*", _ask)
        client.meta.events.register("after-call.dynamodb.*", self._count)

    @contextmanager
    def counting(self) -> Iterator[Consumed]:
        """Count the requests inside the context."""
        self._now = Consumed()
        yield self._now

    def _count(self, model: Any, parsed: dict[str, Any], **_: Any) -> None:
        self._now.requests[model.name] += 1
        consumed = parsed.get("ConsumedCapacity") or []
        for entry in [consumed] if isinstance(consumed, dict) else consumed:
            units = float(entry.get("CapacityUnits", 0.0))
            if model.name in WRITES:
                self._now.writes += units
            else:
                self._now.reads += units


def _ask(params: dict[str, Any], model: Any, **_: Any) -> dict[str, Any]:
    if "ReturnConsumedCapacity" in model.input_shape.members:
        return {**params, "ReturnConsumedCapacity": "TOTAL"}
    return params
