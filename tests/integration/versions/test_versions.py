"""Versions over a real DynamoDB interface, by copy and by pointer: the same for who reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from daicho import Domain, Entity, Key, Versioned, uid
from daicho.book.book import Book
from daicho.declare.registry import Daicho
from daicho.errors import BadCursor, Conflict, Invalid, NotFound, PreconditionFailed
from daicho.plan import Ledger
from daicho.query.version_history import MAX_FORGOTTEN, read_pointed_contents
from daicho.storage.attributes import get_key
from tests.support.table_books import NOON
from tests.support.versioned_entities import LEDGER, Guide, Kept, numbers


def revised(book: Book, entity: Any, times: int, id: str = "m") -> None:
    """An item of so many versions."""
    book.create(entity(id=id, text="text 1", origin="here"))
    for number in range(2, times + 1):
        book.change(entity.key(id), {"text": f"text {number}"})


def test_every_version_can_be_read(kept: Kept, entity: Any) -> None:
    book = kept.book()
    made = book.create(entity(id="m", text="one"))
    assert (made.version, made.created_at, made.versioned_at) == (1, NOON, NOON)
    kept.tick()
    put = book.put(entity(id="m", text="two", tags=["a", "b"]))
    assert (put.version, put.created_at, put.versioned_at) == (2, NOON, kept.now)
    kept.tick()
    changed = book.change(entity.key("m"), {"text": "three"})
    assert (changed.version, changed.tags) == (3, ["a", "b"])
    now = kept.book().get(entity.key("m"))
    assert now == changed
    assert [book.get(entity.versions.at("m", version=n)) for n in (1, 2, 3)] == [made, put, now]
    assert book.page(entity.versions("m")).items == [changed, put, made]
    for absent in (0, 4, 10**15):
        assert book.find(entity.versions.at("m", version=absent)) is None
    with pytest.raises(NotFound, match=r"no .* other"):
        book.get(entity.versions.at("other", version=1))
    with pytest.raises(NotFound):
        book.page(entity.versions("other"))


def test_writes_hold_to_the_version_that_is_known(kept: Kept, entity: Any) -> None:
    book = kept.book()
    revised(book, entity, 2)
    for stale in (1, 3):
        with pytest.raises(PreconditionFailed, match="of version 2"):
            book.put(entity(id="m", text="x"), if_match=stale)
        with pytest.raises(PreconditionFailed, match="of version 2"):
            book.change(entity.key("m"), {"text": "x"}, if_match=stale)
        with pytest.raises(PreconditionFailed, match="of version 2"):
            book.restore(entity.versions.at("m", version=1), if_match=stale)
        with pytest.raises(PreconditionFailed, match="of version 2"):
            book.delete(entity.key("m"), if_match=stale)
    with pytest.raises(PreconditionFailed):
        book.put(entity(id="m", text="x"), if_none_match=True)
    with pytest.raises(PreconditionFailed):
        book.put(entity(id="none", text="x"), if_match=1)
    with pytest.raises(Conflict):
        book.create(entity(id="m", text="x"))
    with pytest.raises(NotFound):
        book.change(entity.key("none"), {"text": "x"})
    assert numbers(book, entity.versions("m")) == [2, 1]
    assert book.put(entity(id="m", text="x"), if_match=2).version == 3


def test_restoring_makes_a_new_version(kept: Kept, entity: Any) -> None:
    book = kept.book()
    revised(book, entity, 3)
    kept.tick()
    back = book.restore(entity.versions.at("m", version=1), if_match=3)
    assert (back.version, back.text, back.versioned_at) == (4, "text 1", kept.now)
    assert book.get(entity.key("m")) == back
    assert [each.text for each in book.page(entity.versions("m")).items] == [
        "text 1", "text 3", "text 2", "text 1",
    ]  # fmt: skip
    with pytest.raises(NotFound):
        book.restore(entity.versions.at("m", version=5))


def test_a_deletion_takes_a_number_and_can_be_undone(kept: Kept, entity: Any) -> None:
    book = kept.book()
    revised(book, entity, 2)
    book.delete(entity.key("m"), if_match=2)
    assert book.find(entity.key("m")) is None
    assert book.find_all([entity.key("m")]) == [None]
    with pytest.raises(NotFound):
        book.delete(entity.key("m"))
    assert numbers(book, entity.versions("m"), limit=1) == [2, 1]
    assert book.find(entity.versions.at("m", version=3)) is None
    with pytest.raises(NotFound):
        book.restore(entity.versions.at("m", version=3))
    kept.tick()
    back = book.restore(entity.versions.at("m", version=1))
    assert (back.version, back.text, back.created_at) == (4, "text 1", NOON)
    book.delete(entity.key("m"))
    kept.tick()
    anew = book.create(entity(id="m", text="anew", origin="there"))
    assert (anew.version, anew.created_at, anew.origin) == (6, kept.now, "there")
    assert numbers(book, entity.versions("m")) == [6, 4, 2, 1]
    book.delete(entity.key("m"))
    assert book.put(entity(id="m", text="again"), if_none_match=True).version == 8


def test_history_may_be_forgotten(kept: Kept, entity: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("daicho.query.version_history.BLOCK_ITEMS", 4)
    monkeypatch.setattr("daicho.query.version_history.MAX_FORGOTTEN", 8)
    assert MAX_FORGOTTEN == 1_000
    book = kept.book()
    revised(book, entity, 12)
    found = book.forget(entity.key("m"))
    assert (found.removed, found.done) == (8, False)
    assert numbers(book, entity.versions("m")) == [12, 11, 10, 9]
    found = book.forget(entity.key("m"))
    assert (found.removed, found.done) == (3, True)
    assert numbers(book, entity.versions("m")) == [12]
    assert book.get(entity.key("m")).text == "text 12"
    assert book.change(entity.key("m"), {"text": "x"}).version == 13
    book.delete(entity.key("m"))
    assert book.forget(entity.key("m")).removed == 2
    with pytest.raises(NotFound):
        book.page(entity.versions("m"))
    assert all("text" not in item for item in kept.stands().values())
    assert book.create(entity(id="m", text="anew")).version == 15
    with pytest.raises(NotFound):
        book.forget(entity.key("none"))


def test_tenants_have_histories_of_their_own(kept: Kept, entity: Any) -> None:
    revised(kept.book("one"), entity, 3)
    other = kept.book("two")
    with pytest.raises(NotFound):
        other.page(entity.versions("m"))
    assert other.find(entity.versions.at("m", version=1)) is None
    with pytest.raises(NotFound):
        other.restore(entity.versions.at("m", version=1))
    assert other.create(entity(id="m", text="mine")).version == 1
    assert numbers(other, entity.versions("m")) == [1]


@pytest.mark.parametrize("id", ["a#b", "$", "#", "a b", "é\u0000", "-", "日本語/1", "@Memo"])
def test_ids_may_hold_anything(kept: Kept, entity: Any, id: str) -> None:
    book = kept.book()
    revised(book, entity, 2, id)
    assert numbers(book, entity.versions(id)) == [2, 1]
    assert book.get(entity.versions.at(id, version=1)).id == id


@pytest.mark.parametrize("way", ["copy", "pointer"])
def test_a_key_must_leave_room_for_its_versions(kept: Kept, way: Any) -> None:
    class Leaf(Entity):
        id: str = uid()
        key = Key(id)
        versions = Versioned(way)

    book = kept.book(ledger=Daicho(Domain("t", Leaf)).append_generations(Ledger()))
    long = "#" * 420  # three bytes each in the item's key, five in that of its versions
    refused: tuple[Callable[[], object], ...] = (
        lambda: book.create(Leaf(id=long)),
        lambda: book.page(Leaf.versions(long)),
        lambda: book.find(Leaf.versions.at(long, version=1)),
        lambda: book.restore(Leaf.versions.at(long, version=1)),
        lambda: book.delete(Leaf.key(long)),
        lambda: book.forget(Leaf.key(long)),
    )
    for ask in refused:
        with pytest.raises(Invalid) as error:
            ask()
        assert error.value.field == "id"
    assert kept.stands() == {}


def test_a_version_takes_up_to_400_kilobytes(kept: Kept, entity: Any) -> None:
    book = kept.book()
    assert book.create(entity(id="m", text="x", tags=["y" * 400_000])).version == 1
    assert book.change(entity.key("m"), {"text": "z"}).version == 2
    with pytest.raises(Invalid) as error:
        book.change(entity.key("m"), {"tags": ["y" * 409_500]})
    assert error.value.field == "tags"
    page = book.page(entity.versions("m"))
    assert [each.version for each in page.items] == [2, 1]
    for _ in range(5):
        book.change(entity.key("m"), {"text": "z"})
    assert len(book.page(entity.versions("m")).items) == 5  # 2 MB a page
    assert numbers(book, entity.versions("m")) == [7, 6, 5, 4, 3, 2, 1]


def test_a_pointer_that_is_out_of_date_shows_what_is_newest(kept: Kept) -> None:
    book = kept.book()
    for id in ("m", "gone"):
        revised(book, Guide, 2, id)
    stale = {get_key(item): item for item in kept.stands().values() if "type" in item}
    book.change(Guide.key("m"), {"text": "later"})
    assert [item["text"] for item in read_pointed_contents(kept.table, LEDGER, stale).values()] == [
        {"S": "text 2"}, {"S": "text 2"},
    ]  # fmt: skip
    book.forget(Guide.key("m"))
    book.delete(Guide.key("gone"))
    book.forget(Guide.key("gone"))
    (found,) = read_pointed_contents(kept.table, LEDGER, stale).values()
    assert (found["text"], found["version"]) == ({"S": "later"}, {"N": "3"})


def test_versions_in_a_range_and_oldest_first(kept: Kept, entity: Any) -> None:
    book = kept.book()
    revised(book, entity, 23)
    versions = entity.versions("m")
    for limit in (1, 4, 100):
        assert numbers(book, versions.reversed(), limit) == list(range(1, 24))
        some = versions.between(9, 12)
        assert numbers(book, some, limit) == [12, 11, 10, 9]
        assert numbers(book, some.ascending(), limit) == [9, 10, 11, 12]
        assert numbers(book, versions.between(22, None), limit) == [23, 22]
    assert numbers(book, versions.between(24, 30)) == []
    with pytest.raises(Invalid):
        book.page(versions.between(2, 1))
    cursor = book.page(versions.between(9, 12), limit=2).cursor
    for other in (versions, versions.between(9, 13), versions.between(9, 12).reversed()):
        with pytest.raises(BadCursor):
            book.page(other, cursor=cursor)
    with pytest.raises(NotFound):
        book.page(entity.versions("other").reversed())
