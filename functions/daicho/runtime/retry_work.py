"""Carrying out work that may fail for a while: again and again until little time is left."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from daicho.errors import UnavailableError
from daicho.runtime.retry import Patience

_log = logging.getLogger(__name__)
T = TypeVar("T")
Mapper = Callable[[Callable[[Any], bool], Iterable[Any]], Iterator[bool]]


def mapper(threads: int) -> Mapper:
    """How to attempt many things: one after the other, or by a pool that stays."""
    return map if threads == 1 else ThreadPoolExecutor(threads, "effort").map


def carry_out(
    work: Sequence[T], attempt: Callable[[T], None], patience: Patience, each: Mapper = map
) -> tuple[T, ...]:
    """Attempt all, then what failed, until nothing is left or little time (rule 5).

    A failure of I/O is never poison. What this gives back is not known to be done. In rounds, so
    that one item that stays throttled holds nothing else up.
    """

    def done(one: T) -> bool:
        if not patience.lasts:
            return False
        try:
            attempt(one)
        except UnavailableError as error:
            _log.warning("not done: %s", error)
            return False
        return True

    left = tuple(work)
    for _ in patience.attempts():
        outcomes = list(each(done, left))
        left = tuple(one for one, is_done in zip(left, outcomes, strict=True) if not is_done)
        if not left:
            break
    return left


def insist(work: Callable[[], T], patience: Patience) -> T:
    """Do one thing, again and again until it works or little time is left.

    Raises:
        UnavailableError: it did not work to the end.
    """
    failure: UnavailableError | None = None
    for _ in patience.attempts():
        try:
            return work()
        except UnavailableError as error:
            _log.warning("not done: %s", error)
            failure = error
    raise failure or UnavailableError("no time was left to try it")
