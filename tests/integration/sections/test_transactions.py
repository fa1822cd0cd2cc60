"""Split items in transactions: sections changed together, or a document as a whole, not both."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.book.book import Book
from daicho.declare.results import SectionValue
from daicho.errors import Invalid, NotFound, PreconditionFailed, Raced
from daicho.storage.table import Table
from tests.support.sample_domains.documents import Document
from tests.support.sample_project import LEDGER
from tests.support.stored_sections import FIRST, at, sections, whole


@pytest.fixture
def book(table: Table) -> Book:
    return Book(table, LEDGER, "acme")


def test_sections_are_changed_together_in_one_transaction(book: Book, table: Table) -> None:
    book.put(Document(id="d", title="One", sections=FIRST))
    with book.transaction() as transaction:
        assert transaction.get(Document.key("d")).title == "One"
        assert book.put_section(at("b"), {"n": 1}) == SectionValue({"n": 1}, 2)
        assert book.put_section(at("new 2"), 2).new
        assert book.put_section(at("new 1"), "passing").version == 4
        with pytest.raises(PreconditionFailed, match="version 4"):
            book.put_section(at("new 1"), 1, if_match=1)
        assert book.put_section(at("new 1"), 1, if_match=4) == SectionValue(1, 5)
        assert book.remove_section(at("zero")) == 6
        with pytest.raises(NotFound):
            book.remove_section(at("zero"))
        with pytest.raises(ZeroDivisionError), book.transaction():
            book.put_section(at("summary"), "undone")
            raise ZeroDivisionError
        assert book.section(at("b")) == SectionValue({"n": 1}, 2)
        assert book.find_section(at("zero")) is None
        assert book.section(at("summary")) == SectionValue("Nothing", 1)
    after = book.get(Document.key("d"))
    assert after.version == 6
    names = [name for name in FIRST if name != "zero"]
    assert list(after.sections) == [*names, "new 2", "new 1"]
    kept = {name: FIRST[name] for name in names}
    assert after.sections == {**kept, "b": {"n": 1}, "new 2": 2, "new 1": 1}
    changed = ("summary", "b", "new 2", "new 1")
    assert [book.section(at(name)).version for name in changed] == [1, 2, 3, 5]
    assert len(sections(table)) == len(after.sections)


def test_sections_are_changed_together_only_if_nobody_else_changes_the_document(
    book: Book, table: Table
) -> None:
    book.put(Document(id="d", sections=FIRST))
    other = Book(table, LEDGER, "acme")
    with pytest.raises(Raced), book.transaction():
        book.put_section(at("b"), 1)
        book.put_section(at("zero"), 1)
        other.put_section(at("summary"), "first")
    assert whole(book) == {**FIRST, "summary": "first"}
    with pytest.raises(Raced), book.transaction() as transaction:
        transaction.get(Document.key("d"))
        other.change(Document.key("d"), {"title": "Two"})
        book.put_section(at("b"), 1)
    assert whole(book) == {**FIRST, "summary": "first"}


@pytest.mark.parametrize(
    "then",
    [
        lambda book: book.change(Document.key("d"), {"title": "Two"}),
        lambda book: book.put(Document(id="d", sections={})),
        lambda book: book.delete(Document.key("d")),
        lambda book: book.get(Document.key("d")),
    ],
)
@pytest.mark.parametrize(
    "first",
    [
        lambda book: book.put_section(at("b"), 1),
        lambda book: book.remove_section(at("b")),
    ],
)
def test_an_item_is_not_changed_after_its_sections_in_one_transaction(
    book: Book, first: Any, then: Any
) -> None:
    book.put(Document(id="d", sections=FIRST))
    book.put(Document(id="other", sections=FIRST))
    with pytest.raises(Invalid, match="section by section"), book.transaction():
        first(book)
        book.put_section(at("b", "other"), 1)  # another document may be
        then(book)
    assert (whole(book), whole(book, "other")) == (FIRST, FIRST)
