"""Reading a tally: its slots as they stand, or the total as it was rolled up last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from daicho.derive import Amount, ItemKey
from daicho.images import Image
from daicho.requests import Page, Query
from daicho.tally import slots


class Reader(Protocol):
    """What reading needs of the table."""

    def get(self, key: ItemKey, *, consistent: bool = False) -> Image | None:
        """Read one item."""

    def pages(self, query: Query) -> Iterator[Page]:
        """Read an item collection."""


def read_slots(table: Reader, tally: str) -> tuple[Image, ...]:
    """All slots of a tally, strongly consistent."""
    # One stretch from "kept#" to "slot#" and the total behind it: cheaper than two queries.
    query = Query(tally, consistent=True)
    found = (item for page in table.pages(query) for item in page.items)
    return tuple(item for item in found if slots.is_slot(item["SK"]["S"]))


def live_amount(table: Reader, tally: str) -> Amount:
    """What the stream has counted up to this moment: the sum of the slots.

    Nothing is ever moved out of a slot yet. Once idle slots are folded into a base, this has to
    read base and revision before and again after the slots, and start over if they moved
    (rule 12); its place is here. Slots are not read in one snapshot: exact when no write is in
    flight, never lost or doubled.
    """
    return sum_of(read_slots(table, tally))


def rolled_up_amount(table: Reader, tally: str, *, consistent: bool = False) -> Amount:
    """The total as of the last rollup: one item."""
    return slots.amount_of(table.get(slots.total_key(tally), consistent=consistent))


def sum_of(found: tuple[Image, ...]) -> Amount:
    """The sum of slots."""
    return sum((slots.amount_of(slot) for slot in found), Amount())
