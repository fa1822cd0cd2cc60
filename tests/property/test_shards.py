"""Lists over shards are one list: against a plain sorted one, while items come and go.

Broken on purpose before it was trusted; each of these is found: a shard left out; a list resumed
at its beginning, or behind its own rows only; shards beyond the hundredth merged with the first;
a cursor of the shard's number alone; a block that is never followed by another.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daicho import Domain, Entity, Key, Listing, Page, field
from daicho.book.book import Book
from daicho.declare.parts import MAX_SHARDS
from daicho.declare.queries import ListQuery
from daicho.declare.registry import Daicho
from daicho.derive import derived_items
from daicho.errors import DeclarationError
from daicho.layout import item_keys
from daicho.plan import Ledger
from daicho.query.collection_reader import MAX_MERGED
from daicho.storage import keys
from daicho.storage.requests import ItemPage as Rows
from daicho.storage.requests import Query
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
    newest = Listing(queue, shards=3)


class Many180(Entity):
    date: dt.date = field()
    id: str = field()

    key = Key(date, id, shards=180)


LEDGER = Daicho(Domain("test", Two, Ten, Many180)).append_generations(Ledger())
KINDS: Sequence[type[Any]] = (Two, Ten, Many180)


class Counting(MemoryTable):
    """A table that counts what queries read."""

    def __init__(self) -> None:
        super().__init__()
        self.requests = self.rows = 0

    def query(self, query: Query) -> Rows:
        found = super().query(query)
        self.requests += 1
        self.rows += found.count
        return found


class House:
    """Items of one kind in a table, and the same in a plain dictionary."""

    def __init__(self, draw: random.Random) -> None:
        self.draw, self.table, self.now = draw, Counting(), NOON
        self.there: dict[str, Any] = {}
        self.fresh: set[str] = set()
        """What was put since a page was last read."""

    @property
    def book(self) -> Book:
        return Book(self.table, LEDGER, "t", clock=lambda: self.now)

    def put(self, item: Any) -> None:
        self.now += dt.timedelta(seconds=self.draw.choice((0, 1)))
        if item.id in self.there:
            return
        made = self.there[item.id] = self.book.create(item)
        self.fresh.add(item.id)
        plan = LEDGER.current_generation(type(item).__name__).plan
        image = next(
            each for each in self.table.items.values() if each.get("id", {}).get("S") == made.id
        )
        for key, row in derived_items.compute_index_rows(plan, image).items():
            self.table.put(row.to_item(key))

    def remove(self, item: Any) -> None:
        del self.there[item.id]
        self.book.delete(type(item).key(item.date, item.id))
        derived = [
            key
            for key in self.table.items
            if key.pk.startswith("t#~")
            and item_keys.parse_derived_partition(key.pk).sk == keys.escape(item.id)
        ]
        for key in derived:
            self.table.delete(key)

    def change(self, make: Callable[[str], Any]) -> None:
        for _ in range(self.draw.choice((0, 0, 1, 3))):
            if self.there and self.draw.random() < 0.4:
                self.remove(self.draw.choice(sorted(self.there.values(), key=lambda it: it.id)))
            else:
                self.put(make(f"{self.draw.randrange(10**6):06d}"))

    def page(self, many: ListQuery[Any], limit: int, cursor: str | None) -> Page[Any]:
        self.table.requests = self.table.rows = 0
        return self.book.page(many, limit=limit, cursor=cursor)


@given(
    st.sampled_from(KINDS),
    st.integers(0, 60),
    st.randoms(use_true_random=False),
)
@settings(max_examples=50, deadline=None)
def test_a_days_items_are_one_list_over_all_shards(
    kind: type[Any], number: int, draw: random.Random
) -> None:
    house = House(draw)
    shards = LEDGER.current_generation(kind.__name__).plan.key.shards
    assert isinstance(shards, int)
    for _ in range(number):
        house.put(kind(date=DAY, id=f"{draw.randrange(10**6):06d}"))

    def place(item: Any) -> tuple[int, str]:
        """Its hundred, and its place in that: all of up to 100 shards are one list."""
        return keys.compute_shard(shards, DAY.isoformat(), item.id) // MAX_MERGED, item.id

    last, cursor = (0, ""), None
    while True:
        limit = draw.choice((1, 2, 5, 20, 100))
        # A page ends with its hundred, so that it is a hundred requests also where little is.
        places = map(place, house.there.values())
        left = sorted(each for each in places if each > last and each[0] == last[0])
        page = house.page(kind.key.all(DAY), limit, cursor)
        assert [place(item) for item in page.items] == left[:limit]
        is_last = last[0] == (shards - 1) // MAX_MERGED
        assert (page.cursor is None) == (is_last and len(left) <= limit)
        lists = min(shards, MAX_MERGED)
        assert house.table.rows <= 3 * limit + 4 * lists
        assert house.table.requests <= lists + 3 + limit
        if page.cursor is None:
            break
        last = place(page.items[-1]) if len(left) > limit else (last[0] + 1, "")
        cursor = page.cursor
        house.change(lambda id: kind(date=DAY, id=id))


@given(st.integers(0, 60), st.randoms(use_true_random=False), st.booleans())
@settings(max_examples=50, deadline=None)
def test_a_listing_over_shards_is_one_list(number: int, draw: random.Random, by_rank: bool) -> None:
    house = House(draw)

    def make(id: str) -> Ten:
        queue = draw.choice(("ops", "ops", "ops", "dev", None))
        return Ten(date=DAY, id=id, queue=queue, rank=draw.randrange(4))

    for id in range(number):
        house.put(make(f"{id:06d}"))

    def place(item: Any) -> tuple[Any, str]:
        return (item.rank if by_rank else item.created_at), item.id

    question = (Ten.queued if by_rank else Ten.newest)("ops")
    house.fresh.clear()
    last: tuple[Any, str] | None = None
    cursor: str | None = None
    while True:
        limit = draw.choice((1, 2, 5, 20, 100))
        listed = (place(item) for item in house.there.values() if item.queue == "ops")
        left = sorted((each for each in listed if last is None or each < last), reverse=True)
        page = house.page(question, limit, cursor)
        found = [place(item) for item in page.items]
        # A page may be decided further down than it shows: down to the row that it has read
        # next. What is put between the two afterwards is passed over, and that alone.
        left = [each for each in left if each in found or each[1] not in house.fresh]
        assert found == left[: len(found)]
        if page.cursor is None:
            assert found == left
            break
        assert found
        assert len(found) <= limit
        last, cursor = found[-1], page.cursor
        house.fresh.clear()
        house.change(make)


def test_a_cursor_is_good_for_its_own_list_alone() -> None:
    house = House(random.Random(1))
    for id in range(30):
        house.put(Ten(date=DAY, id=f"{id:06d}", queue="ops"))
    cursor = house.page(Ten.key.all(DAY), 5, None).cursor
    assert cursor is not None
    others: list[Any] = [Ten.key.all(dt.date(2026, 11, 22)), Ten.queued("ops"), Two.key.all(DAY)]
    for other in others:
        with pytest.raises(Exception, match="belongs to no page of this list"):
            house.book.page(other, cursor=cursor)


def test_items_spread_over_all_shards_of_a_listing() -> None:
    house = House(random.Random(1))
    for id in range(200):
        house.put(Ten(date=DAY, id=f"{id:06d}", queue="ops"))
    lists = {item["GSI2PK"]["S"] for key, item in house.table.items.items() if "queued" in key.sk}
    assert lists == {f"t#Ten.queued#1#ops#{shard}" for shard in range(7)}


@pytest.mark.parametrize("shards", [0, -1, MAX_SHARDS + 1, 2.5, "2", None])
def test_shards_that_are_refused(shards: Any) -> None:
    with pytest.raises(DeclarationError, match="shards are a number from 1 to 100"):
        Listing(Ten.queue, shards=shards)
