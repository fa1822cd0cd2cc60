"""Several items at once over a real DynamoDB interface: all or none, whoever else writes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from daicho.book.book import Book
from daicho.errors import (
    Conflict,
    ContendedError,
    Invalid,
    NotFound,
    PreconditionFailed,
    Raced,
    ReferenceNotFound,
    UnansweredError,
)
from daicho.storage.attributes import ItemKey
from daicho.storage.requests import Delete
from daicho.write.idempotency import IdempotentRequest, StoredAnswer
from tests.support.interrupted_table import InterruptedTable, fail
from tests.support.sample_entities import Ballot, Link, Note, Shelf

DONE = StoredAnswer(200, {}, "done")


def asked(key: str = "k", body: str = "{}") -> IdempotentRequest:
    return IdempotentRequest.from_http(key, "POST", "/", {}, body)


def test_nothing_is_written_twice(shelf: Shelf) -> None:
    book = shelf.book()
    with book.transaction():
        book._tools.writer.commit([Delete(ItemKey("one#x", "-"))])
        with pytest.raises(ValueError, match="twice"):
            book._tools.writer.commit([Delete(ItemKey("one#x", "-"))])


def test_all_is_written_at_the_end_or_nothing(shelf: Shelf) -> None:
    book = shelf.book()
    book.create(Note(id="old", text="1"))
    book.create(Note(id="gone"))
    with book.transaction() as t:
        made = t.create(Note(id="new", text="x"))
        changed = t.change(Note.key("old"), {"text": "2"}, if_match=1)
        t.delete(Note.key("gone"))
        replaced = t.put(Link(a="a", b="b"))
        assert shelf.book().find(Note.key("new")) is None
    other = shelf.book()
    assert (made.version, changed.version, replaced.version) == (1, 2, 1)
    assert other.get(Note.key("new")) == made
    assert other.get(Note.key("old")) == changed
    assert other.find(Note.key("gone")) is None
    before = shelf.everything()
    with pytest.raises(ZeroDivisionError), book.transaction() as t:
        t.create(Note(id="newer"))
        t.delete(Note.key("old"))
        raise ZeroDivisionError
    assert shelf.everything() == before
    assert book.has_no_writes is False
    assert shelf.book().has_no_writes


def test_an_item_may_be_written_twice_and_is_written_once(shelf: Shelf) -> None:
    book = shelf.book()
    with book.transaction() as t:
        t.create(Note(id="n", text="1"))
        t.change(Note.key("n"), {"text": "2"})
        assert book.get(Note.key("n")).text == "2"
        assert book.view(Note.key("n"), "text").values == {"text": "2"}
        book.create(Note(id="passing"))
        assert book.find_all([Note.key("passing"), Note.key("none")])[0] is not None
        book.delete(Note.key("passing"))
        with pytest.raises(Conflict):
            t.create(Note(id="n"))
    got = shelf.book().get(Note.key("n"))
    assert (got.text, got.version) == ("2", 2)
    assert len(shelf.everything()) == 1
    with book.transaction() as t:
        t.delete(Note.key("n"))
        assert t.find(Note.key("n")) is None
        assert book.find(Note.key("n")) is None
        t.create(Note(id="n", text="3"))
    got = shelf.book().get(Note.key("n"))
    assert (got.text, got.version) == ("3", 1)


def test_what_it_refuses(shelf: Shelf) -> None:
    book = shelf.book()
    book.create(Note(id="n"))
    refused: list[tuple[Callable[[Any], Any], type[Exception]]] = [
        (lambda t: t.create(Note(id="n")), Conflict),
        (lambda t: t.put(Note(id="n"), if_none_match=True), PreconditionFailed),
        (lambda t: t.put(Note(id="n"), if_match=2), PreconditionFailed),
        (lambda t: t.put(Note(id="m"), if_match=1), PreconditionFailed),
        (lambda t: t.change(Note.key("n"), {}, if_match=2), PreconditionFailed),
        (lambda t: t.change(Note.key("m"), {}), NotFound),
        (lambda t: t.change(Note.key("n"), {"origin": "x"}), Invalid),
        (lambda t: t.change(Note.key("n"), {"nothing": "x"}), Invalid),
        (lambda t: t.delete(Note.key("m")), NotFound),
        (lambda t: t.delete(Note.key("n"), if_match=2), PreconditionFailed),
        (lambda t: t.get(Note.key("m")), NotFound),
        (lambda t: t.create(Note(extra={"x": "x" * 410_000})), Invalid),
        (lambda t: t.create(Ballot(poll="none", voter="v", candidate="c")), ReferenceNotFound),
    ]
    for write, error in refused:
        with pytest.raises(error) as raised, book.transaction() as t:
            t.create(Note(id="other"))
            write(t)
        assert type(raised.value) is error
    assert len(shelf.everything()) == 1


@pytest.fixture
def interrupted(shelf: Shelf) -> InterruptedTable:
    shelf.table = InterruptedTable(shelf.dynamodb, shelf.table_name)
    return shelf.table


def test_of_two_at_once_one_is_refused(shelf: Shelf, interrupted: InterruptedTable) -> None:
    book, other = shelf.book(), shelf.book()
    book.create(Note(id="read"))
    for meddle in (
        lambda: other.change(Note.key("read"), {"text": "x"}),
        lambda: other.create(Note(id="absent")),
        lambda: other.create(Note(id="new 1")),
        lambda: other.delete(Note.key("read")),
    ):
        with pytest.raises(Raced), book.transaction() as t:
            interrupted.before = [meddle]
            t.find(Note.key("read"))
            t.find(Note.key("absent"))
            t.create(Note(id="new 1"))
            t.create(Note(id="new 2"))
        book.put(Note(id="read"))
        for id in ("absent", "new 1"):
            with book.transaction() as t:
                if t.find(Note.key(id)):
                    t.delete(Note.key(id))
    assert [item["id"]["S"] for item in shelf.everything()] == ["read"]


def test_a_transaction_in_the_way_is_waited_for(
    shelf: Shelf, interrupted: InterruptedTable
) -> None:
    book = shelf.book()
    interrupted.before = [fail(ContendedError("a transaction is there"))] * 2
    with book.transaction() as t:
        t.create(Note(id="a"))
        t.create(Note(id="b"))
    assert (interrupted.transactions, len(shelf.everything())) == (3, 2)


def test_a_part_that_fails_is_undone_alone(shelf: Shelf) -> None:
    book = shelf.book()
    with book.transaction() as t:
        t.create(Note(id="a"))
        with pytest.raises(ZeroDivisionError), book.transaction() as inner:
            inner.create(Note(id="b"))
            t.change(Note.key("a"), {"text": "x"})
            raise ZeroDivisionError
        with book.transaction() as inner:
            assert inner is t
            inner.create(Note(id="c"))
    assert {item["id"]["S"] for item in shelf.everything()} == {"a", "c"}
    assert book.get(Note.key("a")).text == ""


@pytest.mark.parametrize("recorded", [False, True])
def test_a_transaction_has_its_limits(shelf: Shelf, recorded: bool) -> None:
    def create(book: Book, count: int) -> StoredAnswer:
        with book.transaction() as t:
            for number in range(count):
                t.create(Note(id=f"n{number}"))
        return DONE

    most = 99 if recorded else 100
    book = shelf.book()
    for count in (most + 1, most):
        ask = partial(create, book, count)
        if count > most:
            with pytest.raises(Invalid, match="101 items at once"):
                book.once(asked(), ask) if recorded else ask()
            assert not shelf.everything()
        else:
            _ = book.once(asked(), ask) if recorded else ask()
    assert len(shelf.everything()) == 100
    with pytest.raises(Invalid, match="bytes at once"), book.transaction() as t:
        for _ in range(11):
            t.create(Note(extra={"x": "x" * 390_000}))


def test_a_request_whose_answer_was_lost(shelf: Shelf, interrupted: InterruptedTable) -> None:
    book = shelf.book()

    def create() -> StoredAnswer:
        return StoredAnswer(201, {}, book.create(Note()).id)

    interrupted.after = [fail(UnansweredError("silence"))]
    given = book.once(asked(), create)
    assert book.get(Note.key(given.body or "")).version == 1
    interrupted.before = [fail(UnansweredError("lost on the way"))]
    with pytest.raises(UnansweredError):
        book.once(asked("other"), create)
    assert len(shelf.everything()) == 2
