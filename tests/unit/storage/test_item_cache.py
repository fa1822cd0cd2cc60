"""What an instance remembers: as old as is allowed, no older, and not without bound."""

from __future__ import annotations

import datetime as dt

from daicho.storage.attributes import Image, ItemKey
from daicho.storage.item_cache import ItemCache

NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
KEY = ItemKey("p", "s")


class Shop:
    """An item that changes, a clock, and how often it was read."""

    def __init__(self) -> None:
        self.now, self.reads = NOON, 0
        self.image: Image | None = {"n": {"N": "1"}}

    def clock(self) -> dt.datetime:
        return self.now

    def read(self) -> Image | None:
        self.reads += 1
        return self.image

    def tick(self, seconds: float) -> None:
        self.now += dt.timedelta(seconds=seconds)


def test_who_wants_it_fresh_reads_it() -> None:
    shop = Shop()
    memory = ItemCache(shop.clock)
    for expected in (1, 2, 3):
        memory.get(KEY, 0, shop.read)
        assert shop.reads == expected


def test_what_was_forgotten_is_read_anew() -> None:
    shop = Shop()
    memory = ItemCache(shop.clock)
    memory.get(KEY, 2, shop.read)
    memory.forget(KEY)
    memory.forget(KEY)
    memory.get(KEY, 2, shop.read)
    assert shop.reads == 2


def test_the_oldest_makes_room() -> None:
    shop = Shop()
    memory = ItemCache(shop.clock, most=2)
    for place in (1, 2, 3, 3):
        memory.get(ItemKey("p", str(place)), 2, shop.read)
    assert shop.reads == 3
    memory.get(ItemKey("p", "2"), 2, shop.read)
    assert shop.reads == 3
    memory.get(ItemKey("p", "1"), 2, shop.read)
    assert shop.reads == 4


def test_large_items_make_room_too() -> None:
    shop = Shop()
    shop.image = {"text": {"S": "x" * 400}}
    memory = ItemCache(shop.clock, most_bytes=1_000)
    for place in (1, 2, 3):
        memory.get(ItemKey("p", str(place)), 2, shop.read)
    for place, reads in ((3, 3), (2, 3), (1, 4)):
        memory.get(ItemKey("p", str(place)), 2, shop.read)
        assert shop.reads == reads
    shop.image = {"text": {"S": "x" * 2_000}}
    for reads in (5, 6):
        memory.get(KEY, 2, shop.read)
        assert shop.reads == reads
