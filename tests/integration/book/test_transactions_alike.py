"""A function does the same whether each of its writes is a request or all are one transaction."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from typing import Any

import pytest

from daicho.book.book import Book
from daicho.errors import Refusal
from daicho.write.idempotency import IdempotentRequest, StoredAnswer
from tests.support.sample_entities import Errand, Note, Shelf, Token
from tests.support.table_books import NOON

PROGRAMS = 120
Step = Callable[[Book], Any]


def drawn(chance: random.Random) -> Step:
    """One call of a book, on one of few items, so that they meet."""
    id, number = chance.choice("ab"), chance.randrange(3)
    if_match = chance.choice([None, None, None, 1, 2])
    only_new = if_match is None and chance.random() < 0.2
    states: list[Any] = ["open", "late", "done"]
    state, other = chance.choice(states), chance.choice(states)
    note: dict[str, Any] = {"id": id, "priority": number, "stage": chance.choice([None, "open"])}
    steps: list[Step] = [
        lambda book: book.create(Note(**note)),
        lambda book: book.put(Note(**note), if_match=if_match, if_none_match=only_new),
        lambda book: book.change(Note.key(id), {"priority": number}, if_match=if_match),
        lambda book: book.delete(Note.key(id), if_match=if_match),
        lambda book: book.find(Note.key(id)),
        lambda book: book.find_all([Note.key("a"), Note.key("none"), Note.key("b")]),
        lambda book: book.create(Token(id=id, owner=f"o{number}")),
        lambda book: book.put(Token(id=id, owner=f"o{number}"), if_match=if_match),
        lambda book: book.get(Token.key(id)),
        lambda book: book.delete(Token.key(id)),
        lambda book: book.create(Errand(owner="ann", state=state, id=id, weight=number)),
        lambda book: book.change(
            Errand.key("ann", state, id), {"state": other, "weight": number}, if_match=if_match
        ),
        lambda book: book.put(Errand(owner="ann", state=state, id=id), if_match=if_match),
        lambda book: book.delete(Errand.key("ann", state, id), if_match=if_match),
        lambda book: book.find(Errand.key("ann", state, id)),
    ]
    return chance.choice(steps)


def ran(shelf: Shelf, book: Book, program: list[Step], start: dt.datetime) -> list[str]:
    """What each step gave or refused, a microsecond after the one before.

    What is created twice in one moment would pass for a write that the SDK has repeated.
    """
    found: list[str] = []
    for number, step in enumerate(program):
        shelf.now = start + dt.timedelta(microseconds=number)
        try:
            given = step(book)
        except Refusal as refused:
            found.append(f"{type(refused).__name__} {refused.field}")
        else:
            found.append(f"{given!r} {getattr(given, 'version', '')}")
    return found


@pytest.mark.parametrize("seed", range(4))
def test_alike(shelf: Shelf, seed: int) -> None:
    chance = random.Random(seed)
    start = NOON
    for number in range(PROGRAMS // 4):
        program = [drawn(chance) for _ in range(chance.randrange(1, 9))]
        apart = ran(shelf, shelf.book("apart"), program, start)
        together = shelf.book("together")
        given: list[str] = []

        def answer(
            book: Book = together, program: Any = program, given: Any = given
        ) -> StoredAnswer:
            given.extend(ran(shelf, book, program, start))  # noqa: B023
            return StoredAnswer(204, {}, None)

        together.once(IdempotentRequest.from_http(f"{seed} {number}", "POST", "/", {}, ""), answer)
        assert given == apart
        assert standing(shelf, "together") == standing(shelf, "apart")
        start += dt.timedelta(minutes=chance.choice([1, 1, 30, 61]))


def standing(shelf: Shelf, tenant: str) -> dict[tuple[str, str], Any]:
    """A tenant's items as they are in the table, without the tenant."""
    return {
        (item["PK"]["S"].partition("#")[2], item["SK"]["S"]): {
            name: value for name, value in item.items() if name not in ("PK", "SK", "GSI1PK")
        }
        for item in shelf.everything()
        if item["PK"]["S"].startswith(f"{tenant}#") and "type" in item
    }
