"""Units of single requests, against what DynamoDB's documentation gives for these sizes."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.storage.attributes import Image
from daicho_cli.cost.units import measure_write


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
