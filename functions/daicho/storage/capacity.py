"""Capacity units, as DynamoDB says them in its answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

WRITES = frozenset(
    {"put_item", "update_item", "delete_item", "batch_write_item", "transact_write_items"}
)


class CapacityUnits:
    """Read and write units that some requests took; threads may share it.

    What a refused condition took is not in it: DynamoDB bills it and does not say it.
    """

    def __init__(self) -> None:
        self.read = self.written = 0.0
        self._lock = Lock()

    def add(self, request: str, answer: Mapping[str, Any]) -> None:
        """Count what an answer says that its request took."""
        consumed = answer.get("ConsumedCapacity") or []
        each = [consumed] if isinstance(consumed, Mapping) else consumed
        units = sum(float(one.get("CapacityUnits", 0.0)) for one in each)
        with self._lock:
            if request in WRITES:
                self.written += units
            else:
                self.read += units

    def take_total(self) -> tuple[float, float]:
        """Read and write units so far, and begin anew."""
        with self._lock:
            found = self.read, self.written
            self.read = self.written = 0.0
        return found


class MeteredResult:
    """A client of DynamoDB that asks what each request takes, and counts it."""

    def __init__(self, client: Any, units: CapacityUnits) -> None:
        self._client, self._units = client, units

    def __getattr__(self, name: str) -> Callable[..., Any]:
        request = getattr(self._client, name)

        def metered(**parameters: Any) -> Any:
            answer = request(**{**parameters, "ReturnConsumedCapacity": "TOTAL"})
            self._units.add(name, answer)
            return answer

        return metered
