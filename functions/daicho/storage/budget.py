"""The budget of one request of the API, of which its table may not take more.

A table with a budget counts the units that DynamoDB reports. A page of a query and a
batch of keys are only as large as the rest of the budget allows for items of the largest size.
DynamoDB may answer with fewer rows and a position at any time. A query without a limit reads a
document or the slots of a tally, whose size is checked before.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import TypeVar

from daicho.errors import ExceedsBounds, Refusal
from daicho.runtime.bounds import UNBOUNDED, RequestBounds
from daicho.storage.capacity import READ_UNIT_BYTES, WRITE_UNIT_BYTES, CapacityUnits

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
