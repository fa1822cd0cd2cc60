"""Capacity units: what DynamoDB reports in its answers, and what one request of the API may take.

A table with a `RequestBudget` counts the units that DynamoDB reports. A page of a query and a
batch of keys are only as large as the rest of the budget allows for items of the largest size.
DynamoDB may answer with fewer rows and a position at any time. A query without a limit reads a
document or the slots of a tally, whose size is checked before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from daicho.errors import ExceedsBounds, Refusal
from daicho.runtime.bounds import UNBOUNDED, RequestBounds

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


T = TypeVar("T")
INDEX_ROW_BYTES = 3 * 1024
"""A row of an index of keys: two keys of 1 KB, and their partition keys, rarely longer."""
KEY_INDEXES = ("GSI2", "GSI3")
"""Indexes whose rows are keys, and copies of some fields."""
RESERVED_UNITS = 20.0
"""Read units that pages and live sums leave to the rest of their request."""
LIVE_UNITS = 3.0
"""What a live sum reads at least: the total twice, and slots of up to 4 KB."""


DOCUMENT_WRITE_UNITS, DOCUMENT_READ_UNITS = 40, 20
"""What a document's head, its marks and its transaction take besides its sections."""


class RequestBudget(CapacityUnits):
    """What a request has taken of its bounds; threads may share it.

    ``creation_refusal``: why it may create no item, if it may not.
    """

    creation_refusal: Refusal | None = None

    def __init__(self, bounds: RequestBounds = UNBOUNDED) -> None:
        self.bounds, self.read, self.written, self._reserved = bounds, 0.0, 0.0, 0.0

    @property
    def unread(self) -> float:
        """The read units that are left."""
        return self.bounds.read_units - self.read - self._reserved

    @property
    def unwritten(self) -> float:
        """The write units that are left."""
        return self.bounds.write_units - self.written

    def try_live(self, read: Callable[[], T], units: float = LIVE_UNITS) -> T | None:
        """What ``read`` adds up now, of at least so many units; None if it would exceed the budget.

        Then there are still units to answer from totals.
        """
        if units + RESERVED_UNITS > self.unread:
            return None
        reserved, self._reserved = self._reserved, RESERVED_UNITS
        try:
            return read()
        except ExceedsBounds:
            return None
        finally:
            self._reserved = reserved

    def check_document(self, count: int, stored_bytes: int, field: str) -> None:
        """Refuse a document of so many sections that one request could not write or read whole.

        Raises:
            ExceedsBounds: names the limit.
        """
        written = count + ceil(stored_bytes / WRITE_UNIT_BYTES) + DOCUMENT_WRITE_UNITS
        if written > self.bounds.write_units:
            detail = f"{count:,} sections of {stored_bytes:,} bytes take {written:,} write units"
            raise ExceedsBounds(detail, "write_units", self.bounds.write_units, field)
        self.check_read(stored_bytes, field)

    def check_read(self, stored_bytes: int, field: str) -> None:
        """Refuse to read a document of so many bytes as a whole.

        Raises:
            ExceedsBounds: names the limit.
        """
        units = ceil(stored_bytes / READ_UNIT_BYTES) + DOCUMENT_READ_UNITS
        if units > self.bounds.read_units:
            detail = f"sections of {stored_bytes:,} bytes take {units:,} read units"
            raise ExceedsBounds(detail, "read_units", self.bounds.read_units, field)

    def check_write(self, units: float) -> None:
        """Refuse to write so many units more.

        Raises:
            ExceedsBounds: names the limit.
        """
        if units > self.unwritten:
            detail = f"this takes {ceil(self.written + units):,} write units"
            raise ExceedsBounds(detail, "write_units", self.bounds.write_units)

    def count_items(self, *, consistent: bool, is_page: bool = False) -> int:
        """How many items of the largest size may be read; see `count_rows`."""
        return self.count_rows(self.bounds.item_bytes, consistent=consistent, is_page=is_page)

    def count_rows(self, row_bytes: int, *, consistent: bool, is_page: bool = False) -> int:
        """How many rows of at most so many bytes may be read.

        A page, which may end early, leaves units for the other reads of its request.

        Raises:
            ExceedsBounds: none; names the limit.
        """
        row_units = ceil(row_bytes / READ_UNIT_BYTES) * (1.0 if consistent else 0.5)
        rows = int((self.unread - RESERVED_UNITS * is_page) / row_units)
        if rows < 1:
            raise ExceedsBounds(
                "this reads more than a request may: ask for a smaller limit or a shorter range",
                "read_units",
                self.bounds.read_units,
            )
        return rows
