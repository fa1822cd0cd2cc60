"""References to what must exist: asked when they are set, whoever deletes it at that moment."""

from __future__ import annotations

import pytest

from daicho.errors import Invalid, NotFound, ReferenceNotFound
from tests.support.interrupted_table import InterruptedTable
from tests.support.meter import Meter
from tests.support.sample_entities import Link, Note, Poll, Remark, Shelf


@pytest.fixture
def table(shelf: Shelf) -> InterruptedTable:
    shelf.table = InterruptedTable(shelf.dynamodb, shelf.table_name)
    return shelf.table


def test_what_must_exist_does_when_it_is_referred_to(shelf: Shelf) -> None:
    book = shelf.book()
    book.create(Note(id="n"))
    before = shelf.everything()
    for remark, field in (
        (Remark(note="none", id="r"), "note"),
        (Remark(note="n", id="r", poll="none"), "poll"),
        (Remark(note="#$" * 1_000, id="r"), "note"),
    ):
        for write in (book.create, book.put):
            with pytest.raises(Invalid) as refused:
                write(remark)
            assert refused.value.field == field
    assert shelf.everything() == before
    other = shelf.book("two")
    with pytest.raises(ReferenceNotFound, match="there is no Note n"):
        other.create(Remark(note="n", id="r"))
    assert book.create(Remark(note="n", id="r")).version == 1
    assert book.put(Remark(note="n", id="r", text="2")).version == 2


def test_changes_that_leave_the_reference_alone_ask_nothing(shelf: Shelf) -> None:
    book = shelf.book()
    book.create(Note(id="n"))
    book.create(Poll(id="p"))
    book.create(Remark(note="n", id="r", poll="p"))
    with pytest.raises(ReferenceNotFound) as refused:
        book.change(Remark.key("n", "r"), {"poll": "none"})
    assert refused.value.field == "poll"
    book.delete(Note.key("n"))
    book.delete(Poll.key("p"))
    assert book.change(Remark.key("n", "r"), {"text": "2"}).version == 2
    assert book.put(Remark(note="n", id="r", poll="p", text="3")).version == 3
    assert book.change(Remark.key("n", "r"), {"poll": None}).version == 4
    with pytest.raises(ReferenceNotFound):
        book.change(Remark.key("n", "r"), {"poll": "p"})
    book.delete(Remark.key("n", "r"))
    with pytest.raises(ReferenceNotFound):
        book.put(Remark(note="n", id="r"))


def test_what_is_deleted_at_that_moment_is_referred_to_by_nobody(
    shelf: Shelf, table: InterruptedTable
) -> None:
    book, other = shelf.book(), shelf.book()
    book.create(Note(id="n"))
    for write in (book.create, book.put):
        table.before = [lambda: other.delete(Note.key("n"))]
        with pytest.raises(ReferenceNotFound):
            write(Remark(note="n", id="r"))
        assert not shelf.everything()
        book.create(Note(id="n"))
    # Changed, or deleted and made anew, it exists.
    table.before = [lambda: other.change(Note.key("n"), {"text": "x"})]
    assert book.create(Remark(note="n", id="a")).version == 1

    def renew() -> None:
        other.delete(Note.key("n"))
        other.create(Note(id="n"))

    table.before = [renew]
    assert book.create(Remark(note="n", id="b")).version == 1
    with pytest.raises(NotFound):
        book.get(Remark.key("n", "r"))


def test_what_is_created_in_the_same_transaction_exists(shelf: Shelf) -> None:
    book = shelf.book()
    with book.transaction() as t:
        t.create(Note(id="n"))
        t.create(Remark(note="n", id="r"))
    with pytest.raises(ReferenceNotFound), book.transaction() as t:
        t.delete(Note.key("n"))
        t.create(Remark(note="n", id="s"))
    assert book.get(Remark.key("n", "r")).version == 1


@pytest.mark.dynoxide("capacity units")
def test_it_is_four_write_units_and_two_read_units(shelf: Shelf) -> None:
    book, meter = shelf.book(), Meter(shelf.dynamodb)
    book.create(Note(id="n"))
    with meter.counting() as consumed:
        book.create(Remark(note="n", id="r"))
    assert (consumed.writes, consumed.reads) == (4.0, 2.0)
    with meter.counting() as consumed:
        book.create(Link(a="n", b="none"))
    assert consumed.reads == 0
