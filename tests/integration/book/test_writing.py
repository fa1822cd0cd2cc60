"""The Book over a real DynamoDB interface: writing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from daicho.errors import Conflict, Invalid, NotFound, PreconditionFailed, ReferenceNotFound
from tests.support.sample_entities import Note, Poll, Shelf
from tests.support.table_books import NOON


def test_what_is_created_is_got(shelf: Shelf) -> None:
    book = shelf.book()
    extra = {"a": [1, 2.5, None, {"b": True}], "c": {}}
    note = Note(id="n", text="hello", tags={"x", "y"}, colour=None, extra=extra)
    created = book.create(note)
    assert (created.version, created.created_at) == (1, NOON)
    got = book.get(Note.key("n"))
    assert got == created
    assert (got.tags, got.colour, got.extra, got.stage) == ({"x", "y"}, None, extra, None)
    assert shelf.book("other").find(Note.key("n")) is None
    shelf.tick(seconds=1)
    with pytest.raises(Conflict):
        book.create(note)
    with pytest.raises(NotFound, match="no Note m"):
        book.get(Note.key("m"))


def test_frozen_and_copied_fields_stay(shelf: Shelf) -> None:
    book = shelf.book()
    book.create(Poll(id="p", title="first"))
    note = book.put(Note(id="n", poll="p", origin="here"))
    assert (note.seen, note.origin) == ("first", "here")
    book.change(Poll.key("p"), {"title": "second"})
    again = book.put(Note(id="n", poll="p", origin="there", text="new"))
    assert (again.seen, again.origin, again.text, again.version) == ("first", "here", "new", 2)
    assert book.put(Note(id="n", poll="p", text="newer"), if_match=2).seen == "first"
    assert book.put(Note(id="m", poll="p")).seen == "second"
    # What was created without one stays without.
    assert book.put(Note(id="m", poll="p", origin="late")).origin is None
    with pytest.raises(ReferenceNotFound) as error:
        book.put(Note(id="k", poll="q"))
    assert (error.value.field, error.value.status) == ("poll", 422)


def test_change(shelf: Shelf) -> None:
    book = shelf.book()
    book.create(Note(id="n", text="one", origin="here"))
    assert book.change(Note.key("n"), {"text": "two"}).version == 2
    assert book.change(Note.key("n"), {"stage": "open"}, if_match=2).version == 3
    got = book.get(Note.key("n"))
    assert (got.text, got.stage, got.origin, got.created_at) == ("two", "open", "here", NOON)
    with pytest.raises(PreconditionFailed):
        book.change(Note.key("n"), {"text": "x"}, if_match=2)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"nope": 1}, "nope"),
        ({"priority": "high"}, "priority"),
        ({"id": "m"}, "id"),
        ({"origin": "there"}, "origin"),
        ({"seen": "this"}, "seen"),
    ]
    for changes, name in wrong:
        with pytest.raises(Invalid) as error:
            book.change(Note.key("n"), changes)
        assert error.value.field == name
    assert book.change(Note.key("n"), {"id": "n", "origin": "here"}).version == 4
    with pytest.raises(NotFound):
        book.change(Note.key("m"), {"text": "x"})


def test_nothing_that_cannot_be_derived_is_written(shelf: Shelf) -> None:
    book = shelf.book()
    book.create(Note(id="n", origin="o" * 600, stage=None, priority=7))
    cases: list[tuple[dict[str, Any], str]] = [
        ({"text": " ".join(chr(0x4E00 + n) * 2 for n in range(85))}, "text"),
        ({"stage": "s" * 3000}, "stage"),
        ({"extra": {"x": "y" * 450_000}}, "extra"),
        ({"extra": {"": 1}}, "extra"),
        ({"extra": {"x": "\ud800"}}, "extra"),
        ({"extra": {"x": 10**200}}, "extra"),
        ({"priority": 10**20, "stage": "s"}, "priority"),
    ]
    for wrong, name in cases:
        writes: list[Callable[[dict[str, Any]], object]] = [
            lambda values: book.create(Note(id="new", **values)),
            lambda values: book.put(Note(id="n", **values)),
            lambda values: book.put(Note(id="new", **values)),
            lambda values: book.change(Note.key("n"), values),
        ]
        for write in writes:
            with pytest.raises(Invalid) as error:
                write(wrong)
            assert error.value.field == name
    with pytest.raises(Invalid) as error:
        book.create(Note(id="i" * 2048))
    assert error.value.field == "id"
    assert len(shelf.everything()) == 1
    assert book.get(Note.key("n")).version == 1


def test_a_put_is_checked_with_the_frozen_fields_that_stay(shelf: Shelf) -> None:
    # An item of 250 KB that stays and 250 KB that come would be over DynamoDB's limit.
    book = shelf.book()
    book.create(Note(id="n", origin="o" * 250_000))
    with pytest.raises(Invalid, match="takes 5"):
        book.put(Note(id="n", extra={"x": "y" * 250_000}))
    assert book.get(Note.key("n")).version == 1
    assert book.put(Note(id="m", extra={"x": "y" * 250_000})).version == 1
