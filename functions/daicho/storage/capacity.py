"""Capacity units: the bytes of one unit, and the units that DynamoDB reports in its answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

WRITE_UNIT_BYTES, READ_UNIT_BYTES = 1024, 4096
"""Source: "DynamoDB item sizes and formats", Amazon DynamoDB Developer Guide."""
WRITES = frozenset(
    {
        *("put_item", "update_item", "delete_item"),
        *("batch_write_item", "batch_execute_statement", "transact_write_items"),
    }
)


class CapacityUnits:
    """Read and write units that some requests consumed; threads may share it.

    The units of a refused condition are not included: DynamoDB bills but does not report them.
    """

    def __init__(self) -> None:
        self.read = self.written = 0.0
        self._lock = Lock()

    def add(self, request: str, answer: Mapping[str, Any]) -> None:
        """Count the units that an answer reports for its request."""
        consumed = answer.get("ConsumedCapacity")
        if type(consumed) is dict:  # the usual case: each request of the API counts its units
            units = float(consumed.get("CapacityUnits", 0.0))
        else:
            units = sum(float(entry.get("CapacityUnits", 0.0)) for entry in consumed or ())
        with self._lock:
            if request in WRITES:
                self.written += units
            else:
                self.read += units

    def take_total(self) -> tuple[float, float]:
        """Return the read and write units so far, and reset them."""
        with self._lock:
            totals = self.read, self.written
            self.read = self.written = 0.0
        return totals


def _define_request(name: str) -> Callable[..., Any]:
    def metered(self: MeteredResult, **parameters: Any) -> Any:
        parameters["ReturnConsumedCapacity"] = "TOTAL"
        answer = getattr(self._client, name)(**parameters)
        self._units.add(name, answer)
        return answer

    return metered


class MeteredResult:
    """A client of DynamoDB that requests and counts the units of each request."""

    def __init__(self, client: Any, units: CapacityUnits) -> None:
        self._client, self._units = client, units

    get_item = _define_request("get_item")
    batch_get_item = _define_request("batch_get_item")
    query = _define_request("query")
    scan = _define_request("scan")
    put_item = _define_request("put_item")
    update_item = _define_request("update_item")
    delete_item = _define_request("delete_item")
    transact_write_items = _define_request("transact_write_items")
    batch_write_item = _define_request("batch_write_item")
    batch_execute_statement = _define_request("batch_execute_statement")
