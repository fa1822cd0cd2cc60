"""Retry within a deadline: how long to continue, and how to wait between attempts.

Pauses have full jitter; they grow, and are bounded. Source: "Exponential Backoff And Jitter", AWS
Architecture Blog.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from daicho.errors import UnavailableError
from daicho.runtime.frozen_dataclasses import dataclass

_log = logging.getLogger(__name__)
T = TypeVar("T")
R = TypeVar("R")


class Mapper(Protocol):
    """`map`, or the method of a pool of threads: it returns results in the order of the items."""

    def __call__(self, work: Callable[[T], R], items: Iterable[T], /) -> Iterator[R]:
        """The result of ``work`` for each item."""


FIRST_PAUSE_S = 0.05
MAX_PAUSE_S = 5.0
END_RESERVE_S = 20.0
"""Seconds of an invocation kept for its end: one call's whole SDK timeout, and the answer."""


@dataclass(frozen=True)
class RetryBudget:
    """The time that one piece of work has. Seconds throughout.

    ``remaining`` returns the time left; the last ``reserve`` seconds are not used.
    """

    remaining: Callable[[], float]
    reserve: float = END_RESERVE_S
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random.random
    longest: float = MAX_PAUSE_S

    @classmethod
    def for_seconds(cls, seconds: float, *, longest: float = MAX_PAUSE_S) -> RetryBudget:
        """A budget of ``seconds`` from now on, with pauses of at most ``longest``."""
        until = time.monotonic() + seconds
        return cls(lambda: until - time.monotonic(), reserve=0, longest=longest)

    @classmethod
    def for_invocation(
        cls,
        remaining_ms: Callable[[], int],
        *,
        sleep: Callable[[float], None],
        random: Callable[[], float],
    ) -> RetryBudget:
        """The time of a Lambda invocation, less the reserve for its end.

        ``remaining_ms`` returns the milliseconds until Lambda ends it. A short invocation keeps a
        quarter of its time for its end.
        """
        reserve = min(END_RESERVE_S, remaining_ms() / 1000 / 4)
        return cls(lambda: remaining_ms() / 1000, reserve, sleep=sleep, random=random)

    @property
    def has_time_left(self) -> bool:
        """Whether there is time for another attempt."""
        return self.remaining() > self.reserve

    def count_attempts(self) -> Iterator[int]:
        """Count attempts from 1, waiting before each but the first, until the time is used up."""
        longest = min(FIRST_PAUSE_S, self.longest)
        attempt = 1
        yield attempt
        while self.has_time_left:
            # Never past the reserve: the last attempt begins at its start at the latest.
            self.sleep(min(longest * self.random(), self.remaining() - self.reserve))
            longest = min(longest * 2, self.longest)
            attempt += 1
            yield attempt

    def sleep_until_deadline(self) -> None:
        """Wait until the time is used up."""
        while self.has_time_left:
            self.sleep(self.remaining() - self.reserve)


class ThreadPool:
    """Threads that are kept, for work on many items at once.

    Each thread takes the next item itself. `ThreadPoolExecutor.map` hands each item over, which
    takes as much processor time as a request.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._executor = ThreadPoolExecutor(threads, "daicho")

    def map(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """The results in the order of the items, when all are there.

        An error of an item does not stop the others. The first one is raised at the end, when all
        threads have ended their work. Rule 48 relies on this: no write of an attempt continues
        after the invocation, so the settle time is longer than any attempt.
        """
        given = tuple(items)
        results: dict[int, R] = {}
        errors: dict[int, Exception] = {}
        next_items = iter(enumerate(given))  # threads share it: `next` of it is atomic

        def work_on_next_items() -> None:
            for place, item in next_items:
                try:
                    results[place] = work(item)
                except Exception as error:  # raised by the caller's thread
                    errors[place] = error

        threads = range(min(self._threads, len(given)))
        for future in [self._executor.submit(work_on_next_items) for _ in threads]:
            future.result()
        if errors:
            raise errors[min(errors)]
        return iter([results[place] for place in range(len(given))])


def make_mapper(threads: int) -> Mapper:
    """A mapper: one item after the other, or many at once by threads that are kept."""
    return map if threads == 1 else ThreadPool(threads).map


def retry_all(
    work: Sequence[T],
    attempt: Callable[[T], object],
    retry_budget: RetryBudget,
    map_all: Mapper = map,
) -> tuple[T, ...]:
    """Attempt all work, then the failed part, until no work or little time is left (rule 5).

    A failure of I/O is never poison. The returned work is not known to be done. Attempts are in
    rounds, so that one item that is still throttled does not delay the others.
    """

    def is_done_after_attempt(item: T) -> bool:
        if not retry_budget.has_time_left:
            return False
        try:
            attempt(item)
        except UnavailableError as error:
            _log.warning("not done: %s", error)
            return False
        return True

    def attempt_round(remaining: Sequence[T]) -> tuple[T, ...]:
        outcomes = list(map_all(is_done_after_attempt, remaining))
        return tuple(item for item, is_done in zip(remaining, outcomes, strict=True) if not is_done)

    return retry_rounds(work, attempt_round, retry_budget)


def retry_rounds(
    work: Sequence[T],
    attempt_round: Callable[[Sequence[T]], tuple[T, ...]],
    retry_budget: RetryBudget,
) -> tuple[T, ...]:
    """Attempt all work in rounds, until no work or little time is left (rule 5).

    ``attempt_round`` returns the part that is not known to be done; so does this function.
    """
    remaining = tuple(work)
    for _ in retry_budget.count_attempts():
        remaining = attempt_round(remaining)
        if not remaining:
            break
    return remaining


def retry(work: Callable[[], T], retry_budget: RetryBudget) -> T:
    """Do one thing, again and again until it works or little time is left.

    Raises:
        UnavailableError: no attempt succeeded.
    """
    failure: UnavailableError | None = None
    for _ in retry_budget.count_attempts():
        try:
            return work()
        except UnavailableError as error:
            _log.warning("not done: %s", error)
            failure = error
    raise failure or UnavailableError("no time was left to try it")
