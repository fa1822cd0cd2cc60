"""Reading a tally: its slots as they stand, or the total as it was rolled up last."""

from __future__ import annotations

from typing import Protocol

from daicho.derive.contributions import Amount
from daicho.errors import UnavailableError
from daicho.storage.attributes import Image
from daicho.storage.protocols import Gets, Pages
from daicho.storage.requests import Query
from daicho.tally import slots

MOST_STARTS = 10
"""Scheduled rollups of one tally are a minute apart: a live reading starts over once, if ever.
Of a tally that is rolled up at once, it does so for each batch that comes while it reads."""


class Reader(Gets, Pages, Protocol):
    """What reading needs of the table."""


def read_slots(table: Reader, tally: str) -> tuple[Image, ...]:
    """All slots of a tally, strongly consistent."""
    # One stretch from "kept#" to "slot#" and the total behind it: cheaper than two queries.
    query = Query(tally, consistent=True)
    found = (item for page in table.pages(query) for item in page.items)
    return tuple(item for item in found if slots.is_slot(item["SK"]["S"]))


def live_amount(table: Reader, tally: str) -> Amount:
    """What the stream has counted up to this moment: the base and the sum of the slots (rule 12).

    Base and revision are read before the slots and again after them: where the revision moved, a
    slot may have been folded in between and be missed or taken twice, so it starts over. Slots
    are not read in one snapshot: exact when no write is in flight, never lost or doubled.

    Raises:
        UnavailableError: the total moved each time: somebody rolls it up without a pause.
    """
    before = _total(table, tally)
    for _ in range(MOST_STARTS):
        amount = slots.base_of(before) + sum_of(read_slots(table, tally))
        after = _total(table, tally)
        if slots.revision_of(after) == slots.revision_of(before):
            return amount
        before = after
    raise UnavailableError(f"the total of {tally} moves as often as it is read")


def rolled_up_amount(table: Reader, tally: str, *, consistent: bool = False) -> Amount:
    """The total as of the last rollup: one item."""
    return slots.amount_of(table.get(slots.total_key(tally), consistent=consistent))


def sum_of(found: tuple[Image, ...]) -> Amount:
    """The sum of slots."""
    return sum((slots.amount_of(slot) for slot in found), Amount())


def _total(table: Reader, tally: str) -> Image | None:
    return table.get(slots.total_key(tally), consistent=True)
