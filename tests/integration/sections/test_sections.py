"""Split items through the Book: sections by themselves and together, their order, their limits."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import JsonValue

from daicho import Domain, Entity, Key, Split, field
from daicho.book.book import Book
from daicho.declare.registry import Daicho
from daicho.declare.results import SectionValue
from daicho.errors import Conflict, Invalid, NotFound, PreconditionFailed
from daicho.plan import Ledger
from daicho.storage.attributes import MAX_ITEM_BYTES
from daicho.storage.table import Table
from tests.support.sample_domains.documents import Document
from tests.support.sample_project import LEDGER
from tests.support.stored_sections import FIRST, at, items, sections, whole


@pytest.fixture
def book(table: Table) -> Book:
    return Book(table, LEDGER, "acme")


def test_a_document_comes_back_in_the_order_of_its_sections(book: Book, table: Table) -> None:
    written = book.put(Document(id="d", title="Report", sections=FIRST))
    shown: Any = written.sections
    assert (written.title, written.version, shown) == ("Report", 1, None)
    found = book.get(Document.key("d"))
    assert (found.title, found.version, found.sections) == ("Report", 1, FIRST)
    assert list(found.sections) == list(FIRST)
    assert len(sections(table)) == len(FIRST)
    assert len(items(table)) == len(FIRST) + 1  # nothing else stays


def test_a_section_is_read_changed_and_removed_alone(book: Book, table: Table) -> None:
    book.put(Document(id="d", sections=FIRST))
    before = {each["SK"]["S"]: each for each in sections(table)}
    assert book.section(at("summary")) == SectionValue("Nothing", 1)
    assert book.put_section(at("summary"), "Something") == SectionValue("Something", 2)
    after = {each["SK"]["S"]: each for each in sections(table)}
    assert sum(after[key] != before[key] for key in before) == 1
    assert book.put_section(at("new"), 5) == SectionValue(5, 3, new=True)
    assert book.section(at("new")) == SectionValue(5, 3)
    assert book.section(at("b")) == SectionValue(FIRST["b"], 1)
    book.remove_section(at("b"))
    assert book.find_section(at("b")) is None
    changed = {**FIRST, "summary": "Something", "new": 5}
    del changed["b"]
    assert whole(book) == changed
    assert list(whole(book)) == list(changed)
    for missing in (lambda: book.section(at("b")), lambda: book.remove_section(at("b"))):
        with pytest.raises(NotFound, match="no section 'b' in Document d"):
            missing()
    assert book.get(Document.key("d")).version == 4


def test_a_put_takes_the_place_of_all_sections(book: Book, table: Table) -> None:
    book.put(Document(id="d", title="One", sections=FIRST))
    created = book.get(Document.key("d")).created_at
    book.put_section(at("b"), 1)
    assert book.put(Document(id="d", sections={"only": 1})).version == 3
    found = book.get(Document.key("d"))
    assert (found.title, found.sections, found.created_at) == ("", {"only": 1}, created)
    assert len(items(table)) == 2
    book.put(Document(id="d", sections={}))
    assert whole(book) == {}
    assert book.put_section(at("first"), 1).new
    assert whole(book) == {"first": 1}


def test_a_section_is_not_missed_while_the_whole_is_replaced(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was there before and is there after: a put comes between the head and the section."""
    book = Book(table, LEDGER, "acme")
    first: dict[str, Any] = dict.fromkeys("abcdef", 0)
    book.put(Document(id="d", sections=first))
    get, query, comes_between = Table.get, Table.query, False

    def put_between(section: str) -> None:
        nonlocal comes_between
        if comes_between and section.endswith("#a#"):
            comes_between = False
            Book(table, LEDGER, "acme").put(Document(id="d", sections=first))

    def interrupted_get(self: Table, key: Any, *, consistent: bool = False) -> Any:
        put_between(key.sk)
        return get(self, key, consistent=consistent)

    def interrupted_query(self: Table, asked: Any) -> Any:
        put_between(asked.prefix or "")
        return query(self, asked)

    monkeypatch.setattr(Table, "get", interrupted_get)
    monkeypatch.setattr(Table, "query", interrupted_query)
    comes_between = True
    assert book.section(at("a")) == SectionValue(0, 2)
    comes_between = True
    assert book.put_section(at("a"), 1) == SectionValue(1, 4)
    comes_between = True
    assert book.remove_section(at("a")) == 6
    assert not comes_between


def test_conditions_are_on_the_version_of_what_is_written(book: Book) -> None:
    one = Document.key("d")
    with pytest.raises(PreconditionFailed):
        book.put(Document(id="d", sections={}), if_match=1)
    book.put(Document(id="d", sections=FIRST), if_none_match=True)
    with pytest.raises(PreconditionFailed):
        book.put(Document(id="d", sections={}), if_none_match=True)
    with pytest.raises(Conflict):
        book.create(Document(id="d", sections={}))
    assert book.put_section(at("b"), 1, if_match=1).version == 2
    with pytest.raises(PreconditionFailed, match="of version 2"):
        book.put_section(at("b"), 2, if_match=1)
    with pytest.raises(PreconditionFailed, match="of version 1"):
        book.remove_section(at("zero"), if_match=2)
    with pytest.raises(PreconditionFailed, match="no such section"):
        book.put_section(at("never"), 2, if_match=1)
    with pytest.raises(PreconditionFailed):  # a section was changed since
        book.put(Document(id="d", sections={}), if_match=1)
    with pytest.raises(PreconditionFailed):
        book.delete(one, if_match=1)
    assert whole(book) == {**FIRST, "b": 1}
    assert book.put(Document(id="d", sections={"x": 1}), if_match=2).version == 3
    assert book.section(at("x")).version == 3
    book.delete(one, if_match=3)


def test_several_megabytes_and_sections_larger_than_an_item(book: Book, table: Table) -> None:
    large = {f"part {n}": {"text": "ü" * 240_000} for n in range(7)}
    document: dict[str, Any] = {**large, **{f"small {n:04d}": n for n in range(1_200)}}
    book.put(Document(id="d", sections=document))
    assert whole(book) == document
    assert list(whole(book)) == list(document)
    assert len(sections(table)) == 7 * 3 + 1_200
    changed = {"text": "y" * 900_000}
    assert not book.put_section(at("part 3"), changed).new
    assert book.section(at("part 3")).value == changed
    book.put_section(at("part 4"), "small now")
    book.put_section(at("small 0000"), "z" * 500_000)
    document |= {"part 3": changed, "part 4": "small now", "small 0000": "z" * 500_000}
    assert whole(book) == document
    book.remove_section(at("part 5"))
    del document["part 5"]
    assert whole(book) == document
    # 4 in 3 items, 1 in 4, 1 in 1, 1 in 3: what took their places left nothing behind.
    assert len(sections(table)) == 4 * 3 + 4 + 1 + 3 + 1_199
    assert len(items(table)) == len(sections(table)) + 1
    book.delete(Document.key("d"))
    assert items(table) == []


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"": 1}, "sections"),
        ({"n" * 256: 1}, "sections"),
        ({"台" * 86: 1}, "sections"),
        ({"\ud800": 1}, "sections"),
        ({"a": "\ud800"}, "sections.a"),
        ({"a": float("inf")}, "sections.a"),
        ({"a": 10**5000}, "sections.a"),
        ({str(n): n for n in range(5_001)}, "sections"),
        ({str(n): "x" * 500_000 for n in range(10)}, "sections"),
        ({"a": '"' * 2_000_000}, "sections"),
    ],
    ids=range(10),
)
def test_what_cannot_be_stored_is_refused_and_writes_nothing(
    book: Book, table: Table, document: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        book.put(Document(id="d", sections=document))
    assert refused.value.field == field
    assert items(table) == []


def test_a_section_too_many_or_too_large_is_refused(book: Book, table: Table) -> None:
    book.put(Document(id="d", sections={str(n): "x" * 500_000 for n in range(9)}))
    with pytest.raises(Invalid, match="at most 5000000"):
        book.put_section(at("more"), "x" * 500_000)
    book.put_section(at("0"), "x")
    book.put_section(at("more"), "x" * 500_000)
    book.put(Document(id="d", sections={str(n): n for n in range(5_000)}))
    with pytest.raises(Invalid, match="at most 5000"):
        book.put_section(at("more"), 1)
    book.put_section(at("0"), -1)
    book.remove_section(at("0"))
    book.put_section(at("more"), 1)
    for name in ("", "n" * 256, "\ud800"):
        for do in (book.section, book.remove_section, lambda asked: book.put_section(asked, 1)):
            with pytest.raises(Invalid) as refused:
                do(at(name))
            assert refused.value.field == "section"


class Scroll(Entity):
    id: str = field()
    note: str = ""
    sections: dict[str, JsonValue] = field()

    key = Key(id)
    split = Split(sections)


def test_a_head_without_room_for_another_change_is_refused(table: Table) -> None:
    book = Book(table, Daicho(Domain("test", Scroll)).append_generations(Ledger()), "acme")
    book.put(Scroll(id="s", note="x" * (MAX_ITEM_BYTES - 500), sections={"a": 0}))
    with pytest.raises(Invalid, match=f"at most {MAX_ITEM_BYTES}") as refused:
        for number in range(40):
            book.put_section(Scroll.split("s", section=f"section {number}"), number)
    assert refused.value.field == "note"
    found = book.get(Scroll.key("s"))
    assert len(found.sections) == found.version
    book.change(Scroll.key("s"), {"note": "short"})
    assert book.put_section(Scroll.split("s", section="last"), 1).new


def test_a_key_that_leaves_no_room_for_its_sections_is_refused(book: Book, table: Table) -> None:
    with pytest.raises(Invalid) as refused:
        book.put(Document(id="#" * 500, sections={"a": 1}))
    assert refused.value.field == "id"
    assert book.find(Document.key("#" * 500)) is None
    assert items(table) == []


class Sheet(Entity):
    """As it was before it was split, and as it is after: the same entity of two generations."""

    id: str = field()
    cells: dict[str, JsonValue] = field()

    key = Key(id)


BEFORE, Before = Daicho(Domain("sheets", Sheet)), Sheet


class Sheet(Entity):  # type: ignore[no-redef]
    """The one after."""

    id: str = field()
    cells: dict[str, JsonValue] = field()

    key = Key(id)
    split = Split(cells)


def test_what_was_written_before_the_split_is_read_and_becomes_split(table: Table) -> None:
    first = BEFORE.append_generations(Ledger())
    old = Book(table, first, "acme")
    for id in ("a", "b", "c"):
        old.put(Before(id=id, cells={"x": 1, "y": [2]}))
    second = Daicho(Domain("sheets", Sheet)).append_generations(first)
    assert [each.number for each in second.entities["Sheet"]] == [1, 2]
    book = Book(table, second, "acme")
    assert book.get(Sheet.key("a")).cells == {"x": 1, "y": [2]}
    assert book.section(Sheet.split("a", section="y")) == SectionValue([2], 1)  # type: ignore[attr-defined]
    book.put_section(Sheet.split("a", section="y"), 3)  # type: ignore[attr-defined]
    assert book.get(Sheet.key("a")).cells == {"x": 1, "y": 3}
    book.put(Sheet(id="b", cells={"z": 1}))
    assert book.get(Sheet.key("b")).cells == {"z": 1}
    book.remove_section(Sheet.split("c", section="x"))  # type: ignore[attr-defined]
    assert book.get(Sheet.key("c")).cells == {"y": [2]}
    assert not [each for each in items(table) if "cells" in each]
    for id in ("a", "b", "c"):
        book.delete(Sheet.key(id))
    assert items(table) == []
