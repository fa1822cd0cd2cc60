"""Lists over shards: what a page costs, whose its cursor is, and how items are spread.

That they are one list, while items come and go, is tested with all other lists: test_ranges.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho import Domain, Entity, Key, Listing, field
from daicho.book.book import Book
from daicho.declare.parts import MAX_SHARDS
from daicho.declare.registry import Daicho
from daicho.errors import BadCursor, DeclarationError
from daicho.plan import Ledger
from daicho.query.collection_reader import MAX_MERGED
from daicho.storage.requests import ItemPage, Query, Scan
from daicho.testing import MemoryDeployment
from tests.support.memory_stores import MemoryTable

NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
DAY = dt.date(2026, 11, 21)


class Two(Entity):
    date: dt.date = field()
    id: str = field()

    key = Key(date, id, shards=2)


class Ten(Entity):
    date: dt.date = field()
    id: str = field()
    queue: str | None = field(default=None)
    rank: int = field(default=0)

    key = Key(date, id, shards=10)
    queued = Listing(queue, order=rank, shards=7)


class Many180(Entity):
    date: dt.date = field()
    id: str = field()

    key = Key(date, id, shards=180)


LEDGER = Daicho(Domain("test", Two, Ten, Many180)).append_generations(Ledger())


class Counting(MemoryTable):
    """A table that counts what queries read."""

    requests = rows = 0

    def query(self, query: Query) -> ItemPage:
        page = super().query(query)
        self.requests += 1
        self.rows += page.count
        return page


@pytest.mark.parametrize("limit", [1, 5, 100])
@pytest.mark.parametrize("kind", [Two, Ten, Many180])
def test_a_page_costs_a_page_of_each_shard(kind: type[Any], limit: int) -> None:
    table = Counting()
    book = Book(table, LEDGER, "t", clock=lambda: NOON)
    for number in range(60):
        book.create(kind(date=DAY, id=f"{number:06d}"))
    shards = LEDGER.current_generation(kind.__name__).plan.key.shards
    assert isinstance(shards, int)
    lists = min(shards, MAX_MERGED)
    cursor: str | None = None
    while True:
        table.requests = table.rows = 0
        page = book.page(kind.key.all(DAY), limit=limit, cursor=cursor)
        assert table.rows <= 3 * limit + 4 * lists
        assert table.requests <= lists + 3 + limit
        if page.cursor is None:
            break
        cursor = page.cursor


@pytest.fixture
def deployment() -> MemoryDeployment:
    """Items of one day in one queue."""
    deployment = MemoryDeployment(LEDGER)
    for number in range(200):
        deployment.open_book().create(Ten(date=DAY, id=f"{number:06d}", queue="ops"))
    deployment.deliver()
    return deployment


def test_a_cursor_is_good_for_its_own_list_alone(deployment: MemoryDeployment) -> None:
    book = deployment.open_book()
    cursor = book.page(Ten.key.all(DAY), limit=5).cursor
    assert cursor is not None
    others: list[Any] = [Ten.key.all(dt.date(2026, 11, 22)), Ten.queued("ops"), Two.key.all(DAY)]
    for other in others:
        with pytest.raises(BadCursor, match="belongs to no page of this list"):
            book.page(other, cursor=cursor)


def test_items_spread_over_all_shards_of_a_listing(deployment: MemoryDeployment) -> None:
    items = deployment.table.scan(Scan()).items
    lists = {item["GSI2PK"]["S"] for item in items if "queued" in item["SK"]["S"]}
    assert lists == {f"tenant#Ten.queued#1#ops#{shard}" for shard in range(7)}


@pytest.mark.parametrize("shards", [0, -1, MAX_SHARDS + 1, 2.5, "2", None])
def test_shards_that_are_refused(shards: Any) -> None:
    with pytest.raises(DeclarationError, match="shards are a number from 1 to 100"):
        Listing(Ten.queue, shards=shards)
