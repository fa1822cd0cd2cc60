"""Several items at once over a real DynamoDB interface: all or none, whoever else writes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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
    TransactionFailedError,
    UnansweredError,
)
from daicho.storage.item_key import get_key
from daicho.storage.requests import ConditionCheck, Delete, Put, Update
from daicho.storage.table import Table
from daicho.write.idempotency import IdempotentRequest, StoredAnswer
from tests.support.sample_entities import NOON, Ballot, Link, Note, Poll, Shelf, Token, Visit

DONE = StoredAnswer(200, {}, "done")


def asked(key: str = "k", body: str = "{}") -> IdempotentRequest:
    return IdempotentRequest.from_http(key, "POST", "/", {}, body)


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


def test_what_is_copied_may_be_of_the_same_transaction(shelf: Shelf) -> None:
    book = shelf.book()
    with book.transaction() as t:
        poll = t.create(Poll(id="p", shards=4))
        ballot = t.create(Ballot(poll="p", voter="v", candidate="c"))
    assert (ballot.shards, ballot.salt) == (4, poll.salt)
    assert shelf.book().get(Ballot.key("p", "v")) == ballot


def test_a_replaced_item_keeps_what_is_set_once(shelf: Shelf) -> None:
    book = shelf.book()
    first = book.create(Token(id="t", owner="ann"))
    key = {"PK": {"S": "one#Token#t"}, "SK": {"S": "-"}}
    before = shelf.dynamodb.get_item(TableName=shelf.table_name, Key=key)["Item"]
    shelf.tick(minutes=5)
    with book.transaction() as t:
        t.put(Token(id="t", owner="bob"))
    after = shelf.dynamodb.get_item(TableName=shelf.table_name, Key=key)["Item"]
    assert book.get(Token.key("t")).owner == first.owner == "ann"
    assert after == before | {"version": {"N": "2"}}


def test_what_has_expired(shelf: Shelf) -> None:
    book = shelf.book()
    book.create(Token(id="t", owner="ann"))
    book.create(Visit(id="v", at=NOON, kind="k"))
    shelf.tick(hours=2)
    with book.transaction() as t:
        assert t.find(Token.key("t")) is None
        fresh = t.create(Token(id="t", owner="bob"))
    assert (fresh.version, book.get(Token.key("t")).owner) == (1, "bob")
    for replace in (False, True):
        with pytest.raises(Conflict, match="archive"), book.transaction() as t:
            visit = Visit(id="v", at=NOON, kind="k")
            t.put(visit) if replace else t.create(visit)


class Meddling(Table):
    """A table at which somebody else is at the last moment."""

    meddle: Callable[[], object] | None = None
    lost: BaseException | None = None
    contended = 0
    asked = 0

    def transact(self, writes: Any) -> None:
        self.asked += 1
        if self.contended:
            self.contended -= 1
            raise ContendedError("a transaction is there")
        if self.meddle:
            meddle, self.meddle = self.meddle, None
            meddle()
        super().transact(writes)
        if self.lost:
            lost, self.lost = self.lost, None
            raise lost


@pytest.fixture
def meddling(shelf: Shelf) -> Meddling:
    shelf.table = Meddling(shelf.dynamodb, shelf.table_name)
    return shelf.table


def test_of_two_at_once_one_is_refused(shelf: Shelf, meddling: Meddling) -> None:
    book, other = shelf.book(), shelf.book()
    book.create(Note(id="read"))
    for meddle in (
        lambda: other.change(Note.key("read"), {"text": "x"}),
        lambda: other.create(Note(id="absent")),
        lambda: other.create(Note(id="new 1")),
        lambda: other.delete(Note.key("read")),
    ):
        with pytest.raises(Raced), book.transaction() as t:
            meddling.meddle = meddle
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


def test_a_transaction_in_the_way_is_waited_for(shelf: Shelf, meddling: Meddling) -> None:
    book = shelf.book()
    meddling.contended = 2
    with book.transaction() as t:
        t.create(Note(id="a"))
        t.create(Note(id="b"))
    assert (meddling.asked, len(shelf.everything())) == (3, 2)


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


def test_a_request_is_done_once(shelf: Shelf) -> None:
    def create(book: Book) -> StoredAnswer:
        made = book.create(Note())
        book.change(Note.key(made.id), {"text": "2"})
        return StoredAnswer(201, {"ETag": '"1"'}, made.id)

    first = shelf.book().once(asked(), lambda: create(shelf.book()))
    assert first.body
    book = shelf.book()
    second = book.once(asked("other"), lambda: create(book))
    again = shelf.book()
    assert again.once(asked("other"), lambda: create(again)) == second
    with pytest.raises(Invalid):
        again.once(asked("other", body='{"x": 1}'), lambda: create(again))
    theirs = shelf.book("two")
    assert theirs.once(asked("other"), lambda: create(theirs)) != second
    assert theirs.get(Note.key(theirs.once(asked("other"), lambda: DONE).body or "")).version == 2
    shelf.tick(hours=24)
    late = shelf.book()
    assert late.once(asked("other"), lambda: create(late)) != second
    later = shelf.book()
    with pytest.raises(Invalid):
        later.once(asked("other", body="[]"), lambda: DONE)


def test_nothing_is_kept_of_a_request_that_fails(shelf: Shelf) -> None:
    book = shelf.book()

    def fail() -> StoredAnswer:
        book.create(Note())
        raise Conflict("no")

    with pytest.raises(Conflict):
        book.once(asked(), fail)
    assert not shelf.everything()
    assert shelf.book().once(asked(body="[]"), lambda: DONE) == DONE
    # A request that found nothing to do is done all the same.
    assert shelf.book().once(asked(body="[]"), fail) == DONE


def test_a_request_whose_answer_was_lost(shelf: Shelf, meddling: Meddling) -> None:
    book = shelf.book()

    def create() -> StoredAnswer:
        return StoredAnswer(201, {}, book.create(Note()).id)

    meddling.lost = UnansweredError("silence")
    given = book.once(asked(), create)
    assert book.get(Note.key(given.body or "")).version == 1
    meddling.meddle = lambda: (_ for _ in ()).throw(UnansweredError("lost on the way"))
    with pytest.raises(UnansweredError):
        book.once(asked("other"), create)
    assert len(shelf.everything()) == 2


def test_one_request_sent_by_many_at_once(shelf: Shelf) -> None:
    def create(book: Book) -> StoredAnswer:
        return StoredAnswer(201, {}, book.create(Note()).id)

    def send(number: int) -> str | None:
        for _ in range(40):
            book = shelf.book()
            try:
                return book.once(asked(f"key {number % 4}"), partial(create, book)).body
            except Raced:
                continue
        return None

    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(send, range(32)))
    notes = {item["id"]["S"] for item in shelf.everything() if "type" in item}
    assert (len(notes), set(ids)) == (4, notes)
    for key in range(4):
        assert len(set(ids[key::4])) == 1


def test_nothing_is_lost_or_made_between_many(shelf: Shelf) -> None:
    """Amounts move between notes, and every sum that a transaction reads is the same."""
    for number in range(3):
        shelf.book().create(Note(id=f"n{number}", priority=100))
    sums: list[int] = []

    def move(turn: int) -> int:
        a, b = f"n{turn % 3}", f"n{(turn + 1) % 3}"
        for _ in range(60):
            book = shelf.book()
            try:
                with book.transaction() as t:
                    here, there = t.get(Note.key(a)), t.get(Note.key(b))
                    third = t.get(Note.key(f"n{(turn + 2) % 3}"))
                    t.change(Note.key(a), {"priority": here.priority - 1})
                    t.change(Note.key(b), {"priority": there.priority + 1})
            except Raced:
                continue
            sums.append(here.priority + there.priority + third.priority)
            return 1
        return 0

    with ThreadPoolExecutor(6) as pool:
        moved = sum(pool.map(move, range(60)))
    assert moved == 60
    assert set(sums) == {300}
    versions = [shelf.book().get(Note.key(f"n{number}")).version for number in range(3)]
    assert sum(versions) == 3 + 2 * moved


def test_writes_of_ones_own(shelf: Shelf) -> None:
    """What a feature builds itself goes the same way: alone, together, or in who opened it."""
    book = shelf.book()
    writer = book._tools.writer
    image = {"PK": {"S": "one#x"}, "SK": {"S": "-"}, "n": {"N": "1"}}
    there, nowhere = "attribute_exists(PK)", "attribute_not_exists(PK)"
    key = Put(image, nowhere)
    writer.commit([key])
    with pytest.raises(TransactionFailedError) as alone:
        writer.commit([key])
    assert alone.value.refused == {0: image}
    other = {**image, "PK": {"S": "one#y"}}
    with pytest.raises(TransactionFailedError) as both:
        writer.commit([Put(other), key])
    assert both.value.refused == {1: image}
    place = get_key(image)
    with book.transaction() as t:
        writer.commit([Update(place, "SET n = :n", there, values={":n": {"N": "2"}})])
        with pytest.raises(ValueError, match="twice"):
            writer.commit([Delete(place)])
        t.create(Note(id="n"))
    found = {item["PK"]["S"]: item for item in shelf.everything()}
    assert (found["one#x"]["n"], len(found)) == ({"N": "2"}, 2)
    with pytest.raises(Raced), book.transaction() as t:
        writer.commit([ConditionCheck(place, nowhere)])
        t.create(Note(id="m"))
    book.once(asked(), lambda: _after(lambda: writer.commit([Delete(place, there)])))
    assert not shelf.table.get(place)


def _after(write: Callable[[], object]) -> StoredAnswer:
    write()
    return DONE
