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
    ("before", "after", "own", "of_indexes"),
    [
        (None, item(100), 1, 0),
        (None, item(1_010), 1, 0),
        (None, item(1_030), 2, 0),
        (item(3_000), item(10), 3, 0),  # the larger of both
        (item(2_000), None, 2, 0),
        (None, None, 1, 0),  # nothing was there
        (None, posting(), 1, 1),
        (posting(), None, 1, 1),
        (posting(), item(), 1, 1),  # a tombstone: the entry goes
        (posting(), posting(x="y"), 1, 0),  # what the index does not have
        (posting(), posting("r"), 1, 2),  # another place: two writes of the index
        (posting(), posting(copy="c"), 1, 1),  # an attribute of the entry
        (None, item(2_000, GSI1PK="a", GSI1SK="b"), 2, 2),  # GSI1 has everything
    ],
)
def test_a_write_costs_a_unit_for_each_kb_and_what_changes_of_its_entries(
    before: Image | None, after: Image | None, own: float, of_indexes: float
) -> None:
    assert measure_write(before, after) == own + of_indexes
    assert measure_write(before, after, transactional=True) == 2 * own + of_indexes
