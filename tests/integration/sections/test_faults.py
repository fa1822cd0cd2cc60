"""What goes wrong between any two requests of a write: half of it is never seen, nor lost."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any, Literal

import pytest

from daicho.book.book import Book
from daicho.errors import DaichoError, ThrottledError, UnansweredError
from daicho.layout.sections import build_piece_items, split_into_sections
from daicho.runtime.clock import utc_now
from daicho.runtime.retry import RetryBudget
from daicho.storage.table import Table
from daicho.sweep import Sweep
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from tests.support.sample_domains.documents import Document
from tests.support.sample_project import LEDGER

ONE = Document.key("d")
NAME = "daicho"
Way = Literal["throttled", "answer lost", "dies before", "dies after"]
WAYS: tuple[Way, ...] = ("throttled", "answer lost", "dies before", "dies after")
CALLS = ("get", "query", "put", "update", "delete", "transact", "batch_write", "batch_get")


class Died(BaseException):
    """The process ends: nothing that comes after happens."""


class Faulty(Table):
    """One of its requests goes wrong; after a death all the others do."""

    at, way = -1, "throttled"
    asked = 0
    dead = False

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name not in CALLS:
            return found

        def called(*given: Any, **named: Any) -> Any:
            if self.dead:
                raise Died
            self.asked += 1
            if self.asked != self.at:
                return found(*given, **named)
            if self.way == "throttled":
                raise ThrottledError("throttled on purpose")
            if self.way == "dies before":
                self.dead = True
                raise Died
            found(*given, **named)
            if self.way == "dies after":
                self.dead = True
                raise Died
            raise UnansweredError("the answer is lost on purpose")

        return called


OLD: dict[str, Any] = {"a": "old", "b": "old" * 20, "c": 1, "d": "old" * 30}
NEW: dict[str, Any] = {"b": "new", "a": "new" * 30, "e": [], "f": "new" * 40}


def put(book: Book) -> None:
    book.put(Document(id="d", title="new", sections=NEW))


def put_section(book: Book) -> None:
    book.put_section(Document.split("d", section="b"), "changed" * 20)


def put_a_smaller_section(book: Book) -> None:
    book.put_section(Document.split("d", section="b"), "c")


def remove_section(book: Book) -> None:
    book.remove_section(Document.split("d", section="b"))


def change_several(book: Book) -> None:
    with book.transaction():
        book.put_section(Document.split("d", section="b"), "passing" * 20)
        book.put_section(Document.split("d", section="b"), "changed" * 20)
        book.remove_section(Document.split("d", section="c"))
        book.put_section(Document.split("d", section="g"), "new" * 20)


def delete(book: Book) -> None:
    book.delete(ONE)


REMOVED = {name: value for name, value in OLD.items() if name != "b"}
WRITES: list[tuple[Callable[[Book], None], dict[str, Any] | None]] = [
    (put, NEW),
    (put_section, {**OLD, "b": "changed" * 20}),
    (put_a_smaller_section, {**OLD, "b": "c"}),
    (remove_section, REMOVED),
    (
        change_several,
        {"a": OLD["a"], "b": "changed" * 20, "d": OLD["d"], "g": "new" * 20},
    ),
    (delete, None),
]


@pytest.fixture
def dynamodb() -> MemoryDynamoDB:
    return MemoryDynamoDB(utc_now)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("write", "becomes"), WRITES, ids=[each[0].__name__ for each in WRITES])
def test_a_write_that_fails_anywhere_is_done_wholly_or_not_at_all(
    dynamodb: Any,
    monkeypatch: pytest.MonkeyPatch,
    write: Callable[[Book], None],
    becomes: dict[str, Any] | None,
    way: Way,
) -> None:
    monkeypatch.setattr("daicho.layout.sections.PIECE_BYTES", 32)
    whole = Book(Table(dynamodb, NAME), LEDGER, "acme", parallelism=1)
    outcomes = set()
    for at in range(1, 100):
        whole.put(Document(id="d", title="old", sections=OLD))
        faulty = Faulty(dynamodb, NAME)
        faulty.at, faulty.way = at, way
        answered = True
        try:
            write(Book(faulty, LEDGER, "acme", parallelism=1))
        except (DaichoError, Died):
            answered = False
        found = whole.find(ONE)
        seen = None if found is None else found.sections
        assert seen in (OLD, becomes), (at, seen)
        assert not answered or seen == becomes
        outcomes.add((answered, seen == becomes))
        if faulty.asked < at:
            break  # it is through before anything went wrong
        write_again(whole, write, seen == becomes)
        again = whole.find(ONE)
        assert (None if again is None else again.sections) == becomes
        swept(Table(dynamodb, NAME))
        assert left_over(dynamodb) == 0
    assert outcomes >= {(True, True), (False, False)}


class Interrupted(Table):
    """Somebody else is at work before it removes its first mark."""

    other: Callable[[], None] | None = None

    def delete(self, key: Any, **named: Any) -> Any:
        other, self.other = self.other, None
        if other is not None:
            other()
        return super().delete(key, **named)


class Dying(Table):
    """The process ends when it is to remove what it has replaced."""

    def batch_write(self, *_given: Any, **_named: Any) -> None:
        raise Died


def test_nobody_takes_away_the_mark_of_who_replaces_what_he_has_just_written(
    dynamodb: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daicho.layout.sections.PIECE_BYTES", 32)
    table = Interrupted(dynamodb, NAME)
    book = Book(table, LEDGER, "acme", parallelism=1)
    book.put(Document(id="d", title="old", sections=OLD))

    def other() -> None:
        with pytest.raises(Died):
            put_a_smaller_section(Book(Dying(dynamodb, NAME), LEDGER, "acme", parallelism=1))

    table.other = other
    put_section(book)
    assert book.get(ONE).sections == {**OLD, "b": "c"}
    assert left_over(dynamodb) > 0
    swept(Table(dynamodb, NAME))
    assert left_over(dynamodb) == 0


def swept(table: Table) -> None:
    """An hour later."""

    def later() -> dt.datetime:
        return dt.datetime.now(dt.UTC) + dt.timedelta(hours=1)

    report = Sweep(table, no_bucket, later).run(RetryBudget.for_seconds(60))
    assert (report.waiting, report.failed) == (0, 0)


def no_bucket() -> Any:
    raise AssertionError("documents have no objects")


def left_over(dynamodb: Any) -> int:
    """How many items stand there that are neither a head nor made of its sections."""
    items = dynamodb.scan(TableName=NAME)["Items"]
    found = Book(Table(dynamodb, NAME), LEDGER, "acme", parallelism=1).find(ONE)
    if found is None:
        return len(items)
    sections = split_into_sections(found.sections, "sections")
    return len(items) - 1 - sum(len(build_piece_items("p", "e", each, "x")) for each in sections)


def write_again(book: Book, write: Callable[[Book], None], is_done: bool) -> None:
    """Whoever got no answer tries again; what is removed cannot be removed twice."""
    if not (is_done and write in (remove_section, change_several, delete)):
        write(book)
