"""Ranges and directions over a real DynamoDB interface: cost, cursors, shards, expiry."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho.declare.queries import ListQuery
from daicho.errors import BadCursor
from tests.support.meter import Meter
from tests.support.sample_entities import Link, Note, Shelf, walk
from tests.support.table_books import NOON

COUNT = 120


@pytest.fixture
def notes(shelf: Shelf) -> Shelf:
    """A note a second, with its number as its priority."""
    book = shelf.book()
    for number in range(COUNT):
        book.create(Note(id=f"n{number:03d}", text="x", stage="open", priority=number - 60))
        shelf.tick(seconds=1)
    shelf.caught_up()
    return shelf


def test_a_window_limits_a_range_too(notes: Shelf) -> None:
    newest = Note.texts("x").last(dt.timedelta(seconds=30))
    late = newest.between(None, NOON + dt.timedelta(seconds=99))
    expected = [f"n{number:03d}" for number in range(90, 100)]
    assert [note.id for note in walk(notes.book(), late.ascending(), limit=4)] == expected
    assert [note.id for note in walk(notes.book(), late, limit=4)] == expected[::-1]
    early = newest.between(None, NOON + dt.timedelta(seconds=30))
    assert walk(notes.book(), early, limit=4) == []
    day = Note.texts("x").between(NOON.date(), NOON.date())
    assert len(walk(notes.book(), day, limit=100)) == COUNT
    tomorrow = NOON.date() + dt.timedelta(days=1)
    assert walk(notes.book(), day.between(tomorrow, None), limit=100) == []


@pytest.mark.dynoxide("capacity units")
def test_a_page_of_a_range_costs_a_page(notes: Shelf) -> None:
    """What is outside of the range is not read, in either direction, from the first page on."""
    meter = Meter(notes.dynamodb)

    def measure(query: ListQuery[Any]) -> tuple[float, int]:
        with meter.counting() as consumed:
            page = notes.book().page(query, limit=5)
        assert len(page.items) == 5
        return consumed.reads, consumed.requests.total()

    default = measure(Note.staged("open"))
    priorities: list[ListQuery[Any]] = [
        Note.staged("open").between(-20, -10),
        Note.staged("open").between(-20, -10).reversed(),
        Note.staged("open").between(None, -50),
        Note.staged("open").ascending(),
    ]
    for query in priorities:
        assert measure(query) == default
    for entity_query in (Link.key.all("n"), Link.key.inverse("m")):
        book = notes.book()
        for number in range(40):
            book.put(Link(a="n", b=f"b{number:02d}", note="x" * 3_000))
            book.put(Link(a=f"a{number:02d}", b="m", note="x" * 3_000))
        first = "b" if entity_query.by == "partition" else "a"
        whole = measure(entity_query)
        limited = entity_query.between(f"{first}30", f"{first}36")
        for part in (limited, limited.reversed(), entity_query.starting_with(f"{first}3")):
            reads, requests = measure(part)
            assert requests == whole[1]
            assert reads <= whole[0]


def test_a_cursor_belongs_to_a_range_and_a_direction(notes: Shelf) -> None:
    book, query = notes.book(), Note.staged("open")
    others = [
        query,
        query.reversed(),
        query.between(0, None),
        query.between(0, 40),
        query.between(1, 40),
        query.between(0, 40).reversed(),
        query.between(-60, 59),
    ]
    for own in others:
        cursor = book.page(own, limit=2).cursor
        assert cursor is not None
        for other in others:
            if other == own:
                assert book.page(other, limit=2, cursor=cursor).items
                continue
            with pytest.raises(BadCursor):
                book.page(other, limit=2, cursor=cursor)
