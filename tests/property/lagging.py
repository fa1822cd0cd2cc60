"""A table in memory whose index lags, whose reads may be old, and which may leave keys undone.

For properties of pages: blocks are of a few rows, so that every page ends somewhere inside.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from daicho import Entity
from daicho.book.book import Book
from daicho.declare.entity import get_values
from daicho.declare.queries import ListQuery
from daicho.derive import derived_items
from daicho.errors import UnprocessedError
from daicho.items.mapper import to_field_image
from daicho.layout import item_keys
from daicho.layout.base_item import build_base_item
from daicho.plan import Ledger
from daicho.storage import attributes
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.capacity import RequestBudget
from daicho.storage.requests import ItemPage, Query
from daicho.storage.table import BatchGetResult, Table

TENANT = "t"
NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)


@dataclass
class Shelf(Table):
    """A table in memory. ``rows`` are what the index shows, whenever it caught up last."""

    ledger: Ledger
    draw: random.Random
    falters: bool = False
    items: dict[ItemKey, Image] = field(default_factory=dict)
    before: dict[ItemKey, Image | None] = field(default_factory=dict)
    rows: dict[ItemKey, Image] = field(default_factory=dict)
    fetched: int = 0
    budget: RequestBudget = field(default_factory=RequestBudget)

    def write(self, item: Entity, created: dt.datetime) -> None:
        entity = type(item)
        generation = self.ledger.current_generation(entity.__name__)
        image = build_base_item(
            TENANT, generation, to_field_image(entity, get_values(item)), created
        )
        self._set(attributes.get_key(image), image)

    def remove(self, key: ItemKey) -> None:
        self._set(key, None)

    def _set(self, key: ItemKey, image: Image | None) -> None:
        self.before[key] = self.items.get(key)
        if image is None:
            self.items.pop(key, None)
        else:
            self.items[key] = image

    def catch_up(self, keys: Iterable[ItemKey], *, wholly: bool = True) -> None:
        """The index shows these items as they are; unless ``wholly``, also as they were."""
        for key in keys:
            gone = [row for row in self.rows if item_keys.parse_derived_partition(row.pk) == key]
            for row in gone if wholly else ():
                del self.rows[row]
            if (image := self.items.get(key)) is not None:
                plan = self.ledger.current_generation(image["type"]["S"]).plan
                for row, place in derived_items.compute_index_rows(plan, image).items():
                    self.rows[row] = place.to_item(row)

    def get(self, key: ItemKey, *, consistent: bool = False, **_: Any) -> Image | None:
        return self.items.get(key)

    def batch_get(
        self, keys: Iterable[ItemKey], *, consistent: bool = False, **_: Any
    ) -> BatchGetResult:
        found: dict[ItemKey, Image] = {}
        left: list[ItemKey] = []
        for key in dict.fromkeys(keys):
            if self.falters and self.draw.random() < 0.2:
                left.append(key)
                continue
            self.fetched += 1
            image = self.items.get(key)
            if not consistent and key in self.before and self.draw.random() < 0.5:
                image = self.before[key]
            if image is not None:
                found[key] = image
        return BatchGetResult(found, tuple(left))

    def query(self, query: Query) -> ItemPage:
        if query.low is not None and query.high is not None:
            assert query.low <= query.high, "DynamoDB refuses an empty range"
        index = query.index or ""
        pool = self.rows if index == "GSI2" else self.items
        names = (f"{index}SK", "PK", "SK")
        found = [
            (tuple(item[name]["S"] for name in names), item)
            for item in pool.values()
            if item.get(f"{index}PK", {}).get("S") == query.partition
        ]
        found.sort(key=lambda each: each[0], reverse=not query.forward)
        if query.low is not None:
            found = [each for each in found if each[0][0] >= query.low]
        if query.high is not None:
            found = [each for each in found if each[0][0] <= query.high]
        if query.below is not None:
            found = [each for each in found if each[0][0] < query.below]
        if query.start is not None:
            last = tuple(query.start[name]["S"] for name in names)
            found = [e for e in found if (e[0] > last if query.forward else e[0] < last)]
        limit = self.draw.randint(1, 4)
        page = [item for _, item in found[:limit]]
        more = page[-1] if len(found) > limit else None
        return ItemPage(tuple(page), len(page), more, 1.0)


def walked(
    book: Book, many: tuple[ListQuery[Any], ...], draw: random.Random
) -> Iterator[list[Any]]:
    """All pages, each of a limit of its own."""
    cursor: str | None = None
    for _ in range(2_000):
        limit = draw.randint(1, 3)
        try:
            page = book.page(*many, limit=limit, cursor=cursor)
        except UnprocessedError:
            continue  # nothing was decided: the caller asks again
        assert len(page.items) <= limit
        yield page.items
        cursor = page.cursor
        if cursor is None:
            return
    pytest.fail("the walk does not end")
