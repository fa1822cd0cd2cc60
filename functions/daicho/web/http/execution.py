"""Execution of a request: repeated after a lost race, once under an Idempotency-Key."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from daicho.errors import Raced
from daicho.runtime.retry import RetryBudget
from daicho.web.http.operation import Reply
from daicho.write.idempotency import IdempotentRequest, StoredAnswer

if TYPE_CHECKING:
    from daicho.book.book import Book

RACE_RETRY_S = 3.0
"""How long a request that loses races is tried again."""


def execute(
    open_book: Callable[[], Book],
    answer: Callable[[Book], Reply],
    request: IdempotentRequest | None,
    finish: Callable[[Book, Reply], Reply] = lambda _, reply: reply,
) -> Reply:
    """The reply of a request. ``request`` is its identity under an Idempotency-Key, or None.

    ``finish`` is applied to each reply, also to a stored one; its result is not stored.

    After a lost race the request starts again with a book that has read nothing, as long as it
    has written nothing. With a key all its writes are one transaction; without a key they may be.

    Raises:
        Raced: others were faster, again and again.
    """
    for _ in RetryBudget.for_seconds(RACE_RETRY_S).count_attempts():
        book = open_book()
        try:
            reply = answer(book) if request is None else _execute_once(book, answer, request)
        except Raced:
            if not book.has_no_writes:
                raise
        else:
            return finish(book, reply)
    raise Raced("others were faster, again and again; try again")


def _execute_once(book: Book, answer: Callable[[Book], Reply], request: IdempotentRequest) -> Reply:
    def given() -> StoredAnswer:
        reply = answer(book)
        return StoredAnswer(reply.status, reply.headers, reply.body)

    stored_answer = book.once(request, given)
    return Reply(stored_answer.status, stored_answer.body, stored_answer.headers)
