"""How long to go on trying, and how to wait between attempts: full jitter, growing, bounded.

Source: "Exponential Backoff And Jitter", AWS Architecture Blog.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

FIRST_PAUSE = 0.05
LONGEST_PAUSE = 5.0
RESERVE = 20.0
"""Seconds of an invocation kept for its end: one call's whole SDK timeout, and the answer."""


@dataclass(frozen=True)
class Patience:
    """The time that one piece of work has. Seconds throughout.

    ``remaining`` says how much is left; what is within ``reserve`` of the end is not used.
    """

    remaining: Callable[[], float]
    reserve: float = RESERVE
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random.random
    longest: float = LONGEST_PAUSE

    @classmethod
    def seconds(cls, seconds: float, *, longest: float = LONGEST_PAUSE) -> Patience:
        """Patience for so long from now on, with pauses of at most ``longest``."""
        until = time.monotonic() + seconds
        return cls(lambda: until - time.monotonic(), reserve=0, longest=longest)

    @property
    def lasts(self) -> bool:
        """Whether there is time for another attempt."""
        return self.remaining() > self.reserve

    def attempts(self) -> Iterator[int]:
        """Count attempts from 1, waiting before each but the first, until the time is used up."""
        longest = min(FIRST_PAUSE, self.longest)
        attempt = 1
        yield attempt
        while self.lasts:
            # Never past the reserve: the last attempt comes when its time has come.
            self.sleep(min(longest * self.random(), self.remaining() - self.reserve))
            longest = min(longest * 2, self.longest)
            attempt += 1
            yield attempt

    def sleep_out(self) -> None:
        """Wait until the time is used up."""
        while self.lasts:
            self.sleep(self.remaining() - self.reserve)
