"""The Book over a real DynamoDB interface: lists, expiry, figures."""

from __future__ import annotations

import pytest

from daicho.errors import Conflict, NotFound, PreconditionFailed
from tests.support.sample_entities import Shelf, Token, Visit
from tests.support.table_books import NOON


def test_expired_is_absent_everywhere(shelf: Shelf) -> None:
    book = shelf.book()
    book.create(Visit(id="v", at=NOON, kind="k"))
    book.create(Token(id="t", owner="o"))
    shelf.tick(minutes=30)
    book.create(Visit(id="w", at=NOON, kind="k"))
    book = shelf.caught_up()
    assert [each.id for each in book.page(Visit.newest("k")).items] == ["w", "v"]
    shelf.tick(minutes=30)
    assert [each.id for each in book.page(Visit.newest("k")).items] == ["w"]
    assert [each.id for each in book.page(Visit.key.all()).items] == ["w"]
    assert book.find(Visit.key("v")) is None
    with pytest.raises(NotFound):
        book.change(Visit.key("v"), {})
    with pytest.raises(NotFound):
        book.delete(Visit.key("v"))


def test_an_expired_item_is_not_overwritten_before_it_is_archived(shelf: Shelf) -> None:
    book = shelf.book()
    book.create(Visit(id="v", at=NOON, kind="k"))
    shelf.tick(hours=1)
    with pytest.raises(Conflict, match="archive"):
        book.create(Visit(id="v", at=NOON, kind="new"))
    with pytest.raises(Conflict, match="archive"):
        book.put(Visit(id="v", at=NOON, kind="new"))
    with pytest.raises(PreconditionFailed, match="archive"):
        book.put(Visit(id="v", at=NOON, kind="new"), if_none_match=True)
    with pytest.raises(PreconditionFailed):
        book.put(Visit(id="v", at=NOON, kind="new"), if_match=1)
    assert shelf.everything()[0]["kind"] == {"S": "k"}


def test_an_expired_item_that_nobody_archives_gives_way(shelf: Shelf) -> None:
    book = shelf.book()
    for n in range(3):
        book.put(Token(id=f"t{n}", owner="old"))
        book.put(Token(id=f"t{n}", owner="old"))
    shelf.tick(hours=2)
    new = [
        book.create(Token(id="t0", owner="new")),
        book.put(Token(id="t1", owner="new")),
        book.put(Token(id="t2", owner="new"), if_none_match=True),
    ]
    for item in new:
        assert (item.version, item.created_at, item.owner) == (1, shelf.now, "new")
        assert book.get(Token.key(item.id)) == item
