"""The Book over a real DynamoDB interface: large items, lost answers, many writers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from daicho.book.book import Book
from daicho.errors import PreconditionFailed
from daicho.storage.table import Table
from daicho.web.http.endpoint import Endpoint
from daicho.web.http.operation import Operation, QueryVariant, Reply
from daicho.web.http.request import HttpRequest
from tests.support.sample_entities import Note, Shelf


class Repeating(Table):
    """The SDK asks again when an answer is lost: a write is asked for twice."""

    lost = False

    def put(self, *arguments: Any, **options: Any) -> Any:
        return self._answered(super().put, arguments, options)

    def update(self, *arguments: Any, **options: Any) -> Any:
        return self._answered(super().update, arguments, options)

    def _answered(self, write: Any, arguments: Any, options: Any) -> Any:
        if self.lost:
            self.lost = False
            write(*arguments, **options)
        return write(*arguments, **options)


def test_a_transaction_of_one_write_is_done_once(shelf: Shelf) -> None:
    """A refusal of the SDK's repeat would be taken for that of somebody who was faster."""
    shelf.table = table = Repeating(shelf.dynamodb, shelf.table_name)
    shelf.book().create(Note(id="n", priority=1))

    def answer(book: Book) -> Reply:
        with book.transaction() as t:
            known = t.get(Note.key("n"))
            t.change(Note.key("n"), {"priority": known.priority + 1})
        return Reply(204)

    table.lost = True
    variant = QueryVariant("Note.raise", "Raise the priority", lambda call: answer(call.book))
    operation = Operation("POST", "/notes", "notes", [variant])
    request = HttpRequest(
        {"requestContext": {"authorizer": {"jwt": {"claims": {"custom:tenant": "t"}}}}}
    )
    endpoint = Endpoint(operation, lambda _: shelf.book())
    assert endpoint(request).status == 204
    found = shelf.book().get(Note.key("n"))
    assert (found.priority, found.version) == (2, 2)


def test_a_write_whose_answer_was_lost(shelf: Shelf) -> None:
    shelf.table = table = Repeating(shelf.dynamodb, shelf.table_name)
    book = shelf.book()
    table.lost = True
    assert book.create(Note(id="n", text="1")).version == 1
    table.lost = True
    assert book.put(Note(id="m"), if_none_match=True).version == 1
    table.lost = True
    assert book.put(Note(id="n", text="2")).version == 3
    table.lost = True
    assert book.change(Note.key("n"), {"text": "3"}).version == 5
    # Who said which version it must be cannot be told from another who wrote the same.
    writes: list[Callable[[], Note]] = [
        lambda: book.put(Note(id="n", text="4"), if_match=5),
        lambda: book.change(Note.key("n"), {"text": "5"}, if_match=6),
    ]
    for write in writes:
        table.lost = True
        with pytest.raises(PreconditionFailed):
            write()
    got = book.get(Note.key("n"))
    assert (got.text, got.version) == ("5", 7)
