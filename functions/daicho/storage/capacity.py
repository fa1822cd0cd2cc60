"""Capacity units: the bytes of one unit, and the units that DynamoDB reports in its answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from daicho.storage.tenant_guard import TenantGuard

WRITE_UNIT_BYTES, READ_UNIT_BYTES = 1024, 4096
"""Source: "DynamoDB item sizes and formats", Amazon DynamoDB Developer Guide."""
OPERATIONS = {
    name.lower().replace(" ", "_"): name.replace(" ", "")
    for name in (
        *("Get Item", "Batch Get Item", "Query", "Scan", "Put Item", "Update Item", "Delete Item"),
        *("Transact Write Items", "Batch Write Item", "Batch Execute Statement"),
    )
}
"""The methods of a client of DynamoDB that `Table` calls, and the operation of each."""
WRITES = frozenset(OPERATIONS) - {"get_item", "batch_get_item", "query", "scan"}


class CapacityUnits:
    """Read and write units that some requests consumed; threads may share it.

    The units of a refused condition are not included: DynamoDB bills but does not report them.
    """

    _lock = Lock()  # of all: each request has units of its own, and holds it for an addition

    def __init__(self) -> None:
        self.read = self.written = 0.0

    def add(self, request: str, answer: Mapping[str, Any]) -> None:
        """Count the units that an answer reports for its request."""
        consumed = answer.get("ConsumedCapacity")
        if not consumed:
            return
        if type(consumed) is dict:
            units = float(consumed.get("CapacityUnits", 0.0))
        else:
            units = sum(float(entry.get("CapacityUnits", 0.0)) for entry in consumed)
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


class MeteredClient:
    """A client of DynamoDB that requests and counts the units of each request.

    ``guard``: judges each request before it is sent.
    """

    def __init__(self, client: Any, units: CapacityUnits, guard: TenantGuard | None = None) -> None:
        self._client, self._units, self._guard = client, units, guard


def _define_request(name: str) -> Callable[..., Any]:
    def request(self: MeteredClient, **parameters: Any) -> Any:
        if self._guard is not None:
            self._guard.check(name, parameters)
        parameters["ReturnConsumedCapacity"] = "TOTAL"
        answer = getattr(self._client, name)(**parameters)
        self._units.add(name, answer)
        return answer

    return request


for _name in OPERATIONS:
    setattr(MeteredClient, _name, _define_request(_name))
