"""Requests about items with rules: whatever fails, no item breaks a rule at any time.

Each change of an item is compared with what its rules say, in plain steps, when it happens.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from decimal import Decimal
from typing import Any, ClassVar

from daicho.book.book import Book
from daicho.errors import CheckFailed
from daicho.storage.attributes import Image, ItemKey
from tests.delivery.book_requests import BookRequests, Call, Races
from tests.delivery.ruled_entities import NAMES, Paper, Task

ALLOWED = {
    *(("draft", "open"), ("draft", "void"), ("open", "paid"), ("open", "void")),
    *((state, state) for state in ("draft", "open", "paid", "void")),
}
"""The states that may follow each other, written down once more."""
FIRST = ("draft", "open")
STATES = ("draft", "open", "open", "paid", "void")
PRICES = (("7.10",), ("1", "2.50"), ("0.1", "0.2", "-3"), ())
RACES = (("put", "put"), ("state", "put"), ("put", "state"), ("state", "state"), ("prices", "put"))
"""The requests that disturb each other most; the first one stops meanwhile."""


class RuledRequests(BookRequests):
    """Draws requests about items with rules, few of them, so that they meet."""

    races: ClassVar[Mapping[str, Races]] = {}
    other_races: ClassVar[Races] = RACES

    def patch_book(self) -> AbstractContextManager[None]:
        """Nothing is marked: no image is poison."""
        return nullcontext()

    def _draw_request_for(self, name: str, id: str, verb: str, text: str) -> tuple[str, Call]:
        """A request about an entity; ``id`` and ``verb`` are drawn if they are empty."""
        pick = self._choices.pick
        entity: Any = Task if name == "Task" else Paper
        id = id or pick(self._ids)
        key, number = entity.key(id), int(text)
        state, low = pick(STATES), pick((0, 0, 0, 2))
        prices = [Decimal(price) for price in pick(PRICES)]
        if_match = pick((None, None, None, 1, 2))
        values = {"state": state, "prices": prices, "number": number, "low": low}
        item = entity(id=id, origin=pick(("a", text)), **values)

        def swap(book: Book) -> None:
            with book.transaction() as transaction:
                transaction.change(key, {"low": 2, "high": 3})
                transaction.change(key, {"low": 0, "high": 1, "number": number})

        calls: dict[str, Call] = {
            "put": lambda book: book.put(item, if_match=if_match),
            "create": lambda book: book.create(item),
            "state": lambda book: book.change(key, {"state": state}, if_match=if_match),
            "prices": lambda book: book.change(key, {"prices": prices}),
            "number": lambda book: book.change(key, {"number": number, "high": low}),
            "swap": swap,
            "delete": lambda book: book.delete(key, if_match=if_match),
        }
        if entity is Paper:
            old = Paper.versions.at(id, version=pick((1, 2, 3)))
            calls["restore"] = lambda book: book.restore(old)
        verb = verb or pick(("put", "put", "state", "state", "prices", *calls))
        return f"{verb} {item!r} if_match={if_match}", _admit_checks(calls[verb])

    def _check_change(self, key: ItemKey, old: Image | None, new: Image | None) -> None:
        """Check a change of an item of these entities."""
        if new is None or new.get("type", {}).get("S") not in NAMES:
            return
        total = Decimal(new["number"]["N"])
        for price in new["prices"]["L"]:
            total += Decimal(price["N"])
        if Decimal(new["total"]["N"]) != total:
            self._wrong.append(f"{key} has the total {new['total']}, not {total}: {new}")
        if int(new["low"]["N"]) > int(new["high"]["N"]):
            self._wrong.append(f"{key} is out of order: {new}")
        state = new["state"]["S"]
        if old is not None and old["created_at"] == new["created_at"]:
            if (old["state"]["S"], state) not in ALLOWED:
                self._wrong.append(f"{key} goes from {old['state']} to {state}")
        elif new["version"]["N"] == "1" and state not in FIRST:
            self._wrong.append(f"{key} begins as {state}: {new}")


def _admit_checks(call: Call) -> Call:
    """A request that may be refused by a check."""

    def send(book: Book) -> None:
        with suppress(CheckFailed):
            call(book)

    return send
