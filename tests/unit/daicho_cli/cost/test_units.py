"""Units of single requests, against what DynamoDB's documentation gives for these sizes."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.storage.attributes import Image
from daicho_cli.cost.units import (
    Units,
    measure_get,
    measure_read,
    measure_stored,
    measure_write,
    select_entry,
    sum_units,
)


def item(size: int = 100, **more: Any) -> Image:
    """An item of about this size. ``more``: other attributes, as text."""
    texts = {"PK": "p", "SK": "s", "x": "x" * size, **more}
    return {name: {"S": text} for name, text in texts.items()}


def posting(order: str = "q", **more: Any) -> Image:
    return item(GSI2PK="list", GSI2SK=order, **more)


@pytest.mark.parametrize(
    ("before", "after", "units"),
    [
        (None, item(100), 1),
        (None, item(1_010), 1),
        (None, item(1_030), 2),
        (item(3_000), item(10), 3),  # the larger of both
        (item(2_000), None, 2),
        (None, None, 1),  # nothing was there
    ],
)
def test_a_write_costs_a_unit_for_each_kb(
    before: Image | None, after: Image | None, units: float
) -> None:
    assert measure_write(before, after) == units
    assert measure_write(before, after, transactional=True) == 2 * units


@pytest.mark.parametrize(
    ("before", "after", "units"),
    [
        (None, posting(), 2),  # the item, and its entry
        (posting(), None, 2),
        (posting(), item(), 2),  # a tombstone: the entry goes
        (posting(), posting(x="y"), 1),  # what the index does not have
        (posting(), posting("r"), 3),  # another place: two writes of the index
        (posting(), posting(copy="c"), 2),  # an attribute of the entry
        (None, item(2_000, GSI1PK="a", GSI1SK="b"), 4),  # GSI1 has everything
    ],
)
def test_an_index_costs_what_changes_of_its_entry(
    before: Image | None, after: Image | None, units: float
) -> None:
    assert measure_write(before, after) == units


def test_a_transaction_doubles_the_item_and_not_the_entry() -> None:
    assert measure_write(None, posting(), transactional=True) == 3


def test_reads_cost_a_unit_for_4_kb_and_half_of_it_if_not_consistent() -> None:
    assert measure_get(item(4_000)) == 1
    assert measure_get(item(4_100)) == 2
    assert measure_get(item(4_100), consistent=False) == 1
    assert measure_get(None) == 1
    assert measure_read(0, consistent=False) == 0.5


def test_what_is_stored_has_an_overhead_for_the_item_and_for_each_entry() -> None:
    assert measure_stored(item(100)) == 100 + len("PKpSKsx") + 100
    assert measure_stored(posting()) > measure_stored(item()) + 100 + len("GSI2PKlist")


def test_an_entry_has_the_keys_and_the_projected_attributes() -> None:
    entry = select_entry("GSI2", posting(copy="c"))
    assert entry is not None
    assert set(entry) == {"PK", "SK", "GSI2PK", "GSI2SK", "copy"}
    assert select_entry("GSI2", item()) is None
    assert select_entry("GSI3", posting()) is None


def test_units_add_up() -> None:
    assert sum_units([Units(1, 2), Units(3, 4) * 2]) == Units(7, 10)
