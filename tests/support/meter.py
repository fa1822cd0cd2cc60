"""A meter of the capacity units and requests of a client."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from daicho.storage.direct.client import DirectClient

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


class CountingClient(DirectClient):
    """A direct client that tells an observer of each request. It has no event handlers."""

    observe: Callable[[str, dict[str, Any]], None] | None = None

    def call(self, operation: str, parameters: dict[str, Any]) -> Any:
        """Call an operation; if it is observed, with its consumed capacity."""
        if self.observe is None:
            return super().call(operation, parameters)
        asked = {**parameters, "ReturnConsumedCapacity": "TOTAL"}
        answer = super().call(operation, asked)
        self.observe(operation, answer)
        return answer


class Meter:
    """Counts the requests of a boto3 DynamoDB client, or of a `CountingClient`."""

    def __init__(self, client: Any) -> None:
        self._now = Consumed()
        self._client = client
        if not isinstance(client, CountingClient):
            client.meta.events.register("provide-client-params.dynamodb.*", _ask)
            client.meta.events.register(
                "after-call.dynamodb.*",
                lambda model, parsed, **_: self._count(model.name, parsed),
            )

    @contextmanager
    def counting(self) -> Iterator[Consumed]:
        """Count the requests inside the context."""
        self._now = Consumed()
        if isinstance(self._client, CountingClient):
            self._client.observe = self._count
        try:
            yield self._now
        finally:
            if isinstance(self._client, CountingClient):
                self._client.observe = None

    def _count(self, operation: str, answer: dict[str, Any]) -> None:
        self._now.requests[operation] += 1
        consumed = answer.get("ConsumedCapacity") or []
        for entry in [consumed] if isinstance(consumed, dict) else consumed:
            units = float(entry.get("CapacityUnits", 0.0))
            if operation in WRITES:
                self._now.writes += units
            else:
                self._now.reads += units


def _ask(params: dict[str, Any], model: Any, **_: Any) -> dict[str, Any]:
    if "ReturnConsumedCapacity" in model.input_shape.members:
        return {**params, "ReturnConsumedCapacity": "TOTAL"}
    return params
