"""Reading a tally: its slots as stored, or the total of the last rollup."""

from __future__ import annotations

from daicho.derive.contributions import Amount
from daicho.errors import UnavailableError
from daicho.storage.attributes import Image
from daicho.storage.requests import Query
from daicho.tally import slots, total_items
from daicho.tally.limited_table import TallyTable

MAX_STARTS = 10
"""Scheduled rollups of one tally are a minute apart: a live reading starts over once, if ever. If
the tally is rolled up at once, the reading starts over for each batch that arrives meanwhile."""


def read_slots(table: TallyTable, tally: str) -> tuple[Image, ...]:
    """All slots of a tally, strongly consistent."""
    # One range from "kept#" to "slot#" and the total behind it: cheaper than two queries.
    query = Query(tally, consistent=True)
    items = (item for page in table.query_pages(query) for item in page.items)
    return tuple(item for item in items if slots.is_slot(item["SK"]["S"]))


def read_live_amount(table: TallyTable, tally: str) -> Amount:
    """The amount that the stream has counted so far: the base and the sum of the slots (rule 12).

    Slots are not read in one snapshot: exact when no write is in flight, never lost or doubled.

    Raises:
        UnreadableError: see `total_items.check_sum`.
        UnavailableError: as `read_live_items`.
    """
    total, slot_items = read_live_items(table, tally)
    total_items.check_sum(tally, total, slot_items)
    return total_items.read_base(total) + sum_slots(slot_items)


def read_live_items(table: TallyTable, tally: str) -> tuple[Image | None, tuple[Image, ...]]:
    """The total, which has the base, and the slots that are not folded into this base.

    Base and revision are read before the slots and again after them. If the revision changed, a
    slot may have been folded in between and be missed or taken twice, so it starts over.

    Raises:
        UnavailableError: the total moved each time: somebody rolls it up without a pause.
    """
    before = _read_total(table, tally)
    for _ in range(MAX_STARTS):
        slot_items = read_slots(table, tally)
        after = _read_total(table, tally)
        if slots.read_revision(after) == slots.read_revision(before):
            return before, slot_items
        before = after
    raise UnavailableError(f"the total of {tally} moves as often as it is read")


def read_rolled_up_amount(table: TallyTable, tally: str, *, consistent: bool = False) -> Amount:
    """The total as of the last rollup: one item."""
    return slots.read_amount(table.get(total_items.build_total_key(tally), consistent=consistent))


def sum_slots(slot_items: tuple[Image, ...]) -> Amount:
    """The sum of slots."""
    return sum((slots.read_amount(slot) for slot in slot_items), Amount())


def _read_total(table: TallyTable, tally: str) -> Image | None:
    return table.get(total_items.build_total_key(tally), consistent=True)
