"""The creation of an item whose answer was lost."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from daicho.book.book import Book
from daicho.errors import ConditionFailedError
from daicho.storage.attributes import Image
from daicho.storage.capacity import RequestBudget
from tests.support.item_images import LEDGER, NOON, Bag


class Respelling:
    """A table that lost its answer, and gives what it holds in DynamoDB's own spelling."""

    budget = RequestBudget()

    def put(self, item: Image, **_: Any) -> None:
        there = {**item, "labels": {"SS": ["b", "a"]}, "prices": {"M": {"x": {"N": "1.5"}}}}
        raise ConditionFailedError("there already", there)


def test_an_items_own_creation_is_no_conflict_however_it_is_spelt() -> None:
    book = Book(Respelling(), LEDGER, "t", clock=lambda: NOON)  # type: ignore[arg-type]
    made = book.create(Bag(id="b", labels={"a", "b"}, prices={"x": Decimal("1.50")}))
    assert made.version == 1
