"""Many change one document at once, whole and in sections: what each sees, some serial order shows.

`tests.support.linearizability` checks it. Threads draw their calls at random; every value written
is another.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest

from daicho.book.book import Book
from daicho.declare.results import SectionValue
from daicho.errors import NotFound, UnavailableError
from daicho.storage.table import Table
from tests.support.linearizability import ABSENT, Call, History
from tests.support.sample_domains.documents import Document
from tests.support.sample_project import LEDGER
from tests.support.trials import scaled

NAMES = "abcdef"
FIRST = dict.fromkeys(NAMES, 0)
ONE = Document.key("d")
KINDS = {"section": 40, "removal": 8, "whole": 16, "read": 22, "read section": 14}


class Client:
    """One of those who are at the document: draws calls, makes them and writes down what it saw."""

    def __init__(
        self, open_book: Callable[[], Book], seed: int, clock: count[int], padding: str = ""
    ) -> None:
        self.open_book, self.chance, self.clock = open_book, random.Random(seed), clock
        self.values, self.padding = count(seed * 1_000_000), padding
        self.calls: list[Call] = []

    def run(self, calls: int) -> list[Call]:
        kinds = self.chance.choices(list(KINDS), list(KINDS.values()), k=calls)
        for kind in kinds:
            self.make(kind)
        return self.calls

    def make(self, kind: str) -> None:
        name: str | None = self.chance.choice(NAMES)
        value: Any = f"{next(self.values)}{self.padding * self.chance.randrange(2)}"
        call = Call("read" if "read" in kind else "write", name, value, 0)
        if kind in ("whole", "read"):
            some = self.chance.sample(NAMES, self.chance.randint(1, len(NAMES)))
            call.section, call.value = None, {each: f"{value}{each}" for each in some}
        call.begin = next(self.clock)
        try:
            {
                "section": self.put_section,
                "removal": self.remove_section,
                "whole": self.put,
                "read": self.read,
                "read section": self.read_section,
            }[kind](call)
        except UnavailableError:
            pass  # nobody knows: it has no end and no version
        else:
            call.end = next(self.clock)
        if call.does == "write" or call.end is not None:
            self.calls.append(call)

    def put_section(self, call: Call) -> None:
        call.version = self.open_book().put_section(at(call.section), call.value).version

    def remove_section(self, call: Call) -> None:
        call.value = ABSENT
        try:
            call.version = self.open_book().remove_section(at(call.section))
        except NotFound:
            call.does = "read"

    def put(self, call: Call) -> None:
        call.version = self.open_book().put(Document(id="d", sections=call.value)).version

    def read(self, call: Call) -> None:
        found = self.open_book().get(ONE)
        call.value, call.version = found.sections, found.version

    def read_section(self, call: Call) -> None:
        held: SectionValue | None = self.open_book().find_section(at(call.section))
        call.value = ABSENT if held is None else held.value


def at(name: str | None) -> Any:
    return Document.split("d", section=name or "")


def together(table: Table, clients: int, calls: int, seed: int, padding: str = "") -> History:
    def open_book() -> Book:
        return Book(table, LEDGER, "acme")

    open_book().put(Document(id="d", sections=dict(FIRST)))
    clock = count(1)
    all_of = [Client(open_book, seed + n, clock, padding) for n in range(clients)]
    with ThreadPoolExecutor(clients) as pool:
        found = [call for each in pool.map(lambda c: c.run(calls), all_of) for call in each]
    return History(dict(FIRST), found)


def test_changes_and_what_is_read_meanwhile_are_some_serial_order(
    table: Table,
) -> None:
    history = together(table, clients=4, calls=scaled(460, otherwise=140), seed=1)
    changes = [call for call in history.calls if call.does == "write"]
    assert len(changes) >= scaled(1_000, otherwise=300)
    assert len(history.calls) - len(changes) > scaled(500, otherwise=150)
    kinds = {(call.does, call.section is None) for call in history.calls}
    assert len(kinds) == 4
    assert history.wrong() is None
    left = table._client.scan(TableName=table.name)["Items"]
    whole = Book(table, LEDGER, "acme").get(ONE).sections
    assert len(left) == len(whole) + 1


def test_what_is_read_while_it_changes_all_the_time_is_one_state(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages are read slowly, and after each of them some section is changed."""
    book = Book(table, LEDGER, "acme")
    document: dict[str, Any] = {f"{n:03d}": "x" * 40_000 for n in range(80)}
    book.put(Document(id="d", sections=document))
    states = [dict(document)]
    chance = random.Random(3)
    query, busy = Table.query, False

    def interrupted(self: Table, asked: Any) -> Any:
        nonlocal busy
        page = query(self, asked)
        if not busy and asked.prefix and "#" not in asked.prefix[:-1]:
            busy = True
            for _ in range(3):
                name, value = f"{chance.randrange(80):03d}", str(len(states))
                book.put_section(at(name), value)
                states.append({**states[-1], name: value})
            busy = False
        return page

    monkeypatch.setattr(Table, "query", interrupted)
    for _ in range(4):
        found = book.get(ONE)
        assert found.sections == states[found.version - 1]
        assert found.version == len(states)


def test_a_section_is_not_missed_while_the_whole_is_replaced(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was there before and is there after: a put comes between the head and the section."""
    book = Book(table, LEDGER, "acme")
    book.put(Document(id="d", sections=dict(FIRST)))
    get, query, comes_between = Table.get, Table.query, False

    def put_between(section: str) -> None:
        nonlocal comes_between
        if comes_between and section.endswith("#a#"):
            comes_between = False
            Book(table, LEDGER, "acme").put(Document(id="d", sections=dict(FIRST)))

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
