"""Doing a request: again where others were faster, and once where it has an Idempotency-Key."""

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
"""How long a request begins anew that others get ahead of."""


def execute(
    open_book: Callable[[], Book],
    answer: Callable[[Book], Reply],
    request: IdempotentRequest | None,
    finish: Callable[[Book, Reply], Reply] = lambda _, reply: reply,
) -> Reply:
    """The reply of a request; ``asked`` is what it is done once as.

    ``finish`` is done to each reply, one that was kept too, and nothing of it is kept.

    It begins anew, with a book that has read nothing, as long as nothing of it was written: under
    a key all that it writes is one transaction, and without one it may be.

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

    found = book.once(request, given)
    return Reply(found.status, found.body, found.headers)
