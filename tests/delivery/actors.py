"""Attempts that advance one operation at a time, and the faults that meet each operation.

An attempt runs the real code in a thread of its own, which waits before every operation on the
table until it is given its turn. So one attempt can be overtaken by another between any two
operations, be left for good, or come back as a zombie, and a seed decides all of it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from threading import Semaphore, Thread
from typing import Any, TypeVar

from daicho.errors import ThrottledError, UnavailableError
from daicho.patience import Patience

T = TypeVar("T")
SWITCH_SECONDS = 30.0


class Crash(BaseException):
    """The process is gone."""


@dataclass(frozen=True)
class Faults:
    """How likely each fault is, for each operation."""

    throttle: float = 0.0
    crash: float = 0.0
    lost: float = 0.0
    repeated: float = 0.0

    @classmethod
    def drawn(cls, rng: random.Random) -> Faults:
        """Some schedules are calm, some are not."""
        return cls(*(rng.choice((0.0, 0.05, 0.3)) for _ in range(4)))


class Actor:
    """One invocation."""

    def __init__(self, work: Callable[[Actor], Any], rng: random.Random, faults: Faults) -> None:
        self._work = work
        self._rng = rng
        self._faults = faults
        self._turn, self._back = Semaphore(0), Semaphore(0)
        self._killed = False
        self._time = float(rng.choice((5, 30, 300)))
        self.finished = False
        self.failure: BaseException | None = None
        self.outcome: Any = None
        self.patience = Patience(
            lambda: self._time, reserve=1, sleep=self._sleep, random=rng.random
        )
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def step(self) -> None:
        """Let it go on to its next operation, or its end."""
        self._turn.release()
        assert self._back.acquire(timeout=SWITCH_SECONDS)
        if self.finished:
            self._thread.join()

    def kill(self) -> None:
        """End it where it stands."""
        self._killed = True
        while not self.finished:
            self.step()

    def do(self, operation: Callable[[], T]) -> T:
        """Carry out one operation of this actor, as a fault lets it."""
        self._back.release()
        self._turn.acquire()
        self._time -= 1
        self._crash()
        if self._rng.random() < self._faults.throttle:
            raise ThrottledError("throttled")
        found = operation()
        self._crash()
        if self._rng.random() < self._faults.lost:
            raise UnavailableError("done, but nobody was told")
        if self._rng.random() < self._faults.repeated:
            found = operation()  # the SDK's own repeat after a lost response
        return found

    def _crash(self) -> None:
        if self._killed or self._rng.random() < self._faults.crash / 4:
            raise Crash

    def _sleep(self, seconds: float) -> None:
        self._time -= seconds + 0.01

    def _run(self) -> None:
        self._turn.acquire()
        try:
            if not self._killed:
                self.outcome = self._work(self)
        except BaseException as failure:
            self.failure = failure
        self.finished = True
        self._back.release()


class Faulty:
    """A store or bucket whose every method is an operation of an actor."""

    def __init__(self, real: Any, actor: Actor) -> None:
        self._real = real
        self._actor = actor

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._real, name)
        return lambda *args, **named: self._actor.do(lambda: method(*args, **named))
