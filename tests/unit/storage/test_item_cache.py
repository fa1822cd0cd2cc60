"""What an instance remembers: as old as is allowed, no older, and not without bound."""

from __future__ import annotations

import datetime as dt

from daicho.storage.attributes import Image
from daicho.storage.item_cache import ItemCache
from daicho.storage.item_key import ItemKey

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


def test_it_is_read_once_in_its_time() -> None:
    shop = Shop()
    memory = ItemCache(shop.clock)
    old = shop.image
    assert memory.get(KEY, 2, shop.read) == old
    shop.image = {"n": {"N": "2"}}
    shop.tick(1.9)
    assert (memory.get(KEY, 2, shop.read), shop.reads) == (old, 1)
    shop.tick(0.1)
    assert (memory.get(KEY, 2, shop.read), shop.reads) == (shop.image, 2)


def test_who_wants_it_fresh_reads_it() -> None:
    shop = Shop()
    memory = ItemCache(shop.clock)
    for expected in (1, 2, 3):
        memory.get(KEY, 0, shop.read)
        assert shop.reads == expected


def test_a_clock_that_was_set_back_makes_nothing_last() -> None:
    shop = Shop()
    memory = ItemCache(shop.clock)
    memory.get(KEY, 2, shop.read)
    shop.tick(-3600)
    memory.get(KEY, 2, shop.read)
    assert shop.reads == 2


def test_its_age_is_counted_from_when_it_was_asked_for() -> None:
    shop = Shop()
    memory = ItemCache(shop.clock)

    def slowly() -> Image | None:
        image = shop.read()
        shop.tick(2)
        return image

    memory.get(KEY, 2, slowly)
    memory.get(KEY, 2, shop.read)
    assert shop.reads == 2


def test_that_there_is_none_is_remembered_only_if_asked_for() -> None:
    shop = Shop()
    memory = ItemCache(shop.clock)
    shop.image = None
    assert memory.get(KEY, 2, shop.read) is memory.get(KEY, 2, shop.read) is None
    assert shop.reads == 2
    memory.get(KEY, 2, shop.read, absence=True)
    shop.image = {"n": {"N": "1"}}
    assert (memory.get(KEY, 2, shop.read, absence=True), shop.reads) == (None, 3)


def test_what_is_gone_is_not_remembered_as_it_was() -> None:
    shop = Shop()
    memory = ItemCache(shop.clock)
    memory.get(KEY, 2, shop.read)
    shop.image = None
    shop.tick(2)
    assert memory.get(KEY, 2, shop.read) is None
    shop.tick(-1)
    assert memory.get(KEY, 2, shop.read) is None


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
