"""Lists whose rows bring along what is shown: read from the index alone, as old as the index."""

from __future__ import annotations

from typing import Any

from tests.support.sample_entities import Copied, Shelf, walk


def test_whole_items_from_the_index_alone(shelf: Shelf, fetched: list[Any]) -> None:
    book = shelf.book()
    for n in range(30):
        deep: Any = {"n": n}
        for _ in range(30):
            deep = {"in": deep}
        made = Copied(id=f"c{n:02d}", group="g", tags={"b", "a"}, secret=f"s{n}", deep=deep)
        book.create(made)
        shelf.tick(seconds=1)
    book = shelf.caught_up()
    found = walk(book, Copied.of_group("g"), limit=7)
    assert fetched == []
    assert [each.id for each in found] == [f"c{n:02d}" for n in reversed(range(30))]
    for each in found:
        assert each == book.get(Copied.key(each.id))
    book.change(Copied.key("c07"), {"group": "h"})
    book.delete(Copied.key("c08"))
    assert len(walk(book, Copied.of_group("g"), limit=7)) == 30
    book = shelf.caught_up()
    assert len(walk(book, Copied.of_group("g"), limit=7)) == 28
    assert [each.version for each in walk(book, Copied.of_group("h"), limit=7)] == [2]


def test_what_has_expired_is_hidden_from_the_index_too(shelf: Shelf) -> None:
    book = shelf.book()
    book.create(Copied(id="old", group="g"))
    shelf.caught_up()
    shelf.tick(days=2)
    assert walk(shelf.book(), Copied.of_group("g"), limit=5) == []
