"""The clocks: defaults of functions that take a clock as an argument."""

from __future__ import annotations

import datetime as dt
import time
from threading import Lock

from daicho.runtime.frozen_dataclasses import dataclass


class _InstantSource:
    """Draws the time, and no instant twice in a row: two threads may ask in one microsecond."""

    def __init__(self) -> None:
        self._last = dt.datetime.min.replace(tzinfo=dt.UTC)
        self._lock = Lock()

    def draw(self) -> dt.datetime:
        with self._lock:
            now = dt.datetime.now(dt.UTC)
            if now <= self._last < now + MAX_CLOCK_LEAD:
                now = self._last + dt.timedelta(microseconds=1)
            self._last = now
            return now


MAX_CLOCK_LEAD = dt.timedelta(milliseconds=1)
"""How far instants may run ahead of the clock. If it was set back by more, they follow it."""
_instants = _InstantSource()


def utc_now() -> dt.datetime:
    """The time at this moment, in UTC, with microseconds.

    No two calls of a process return the same instant. So an item that is deleted and created again
    has another ``created_at``, by which an exact touch distinguishes them (rule 29).
    """
    return _instants.draw()


@dataclass(frozen=True)
class ClockReading:
    """What the monotonic clock and the wall clock show at one moment, in seconds.

    Neither clock alone measures how long something is valid. The monotonic clock may not advance
    while Lambda has frozen the execution environment, or a laptop sleeps. The wall clock may be set
    back. So time has passed as soon as one of them shows it.
    """

    monotonic: float
    wall: float

    def is_recent(self, now: ClockReading, seconds: float) -> bool:
        """Whether by both clocks less than ``seconds`` have passed since this reading."""
        return 0 <= now.monotonic - self.monotonic < seconds and 0 <= now.wall - self.wall < seconds


def read_clocks() -> ClockReading:
    """Read both clocks at this moment."""
    return ClockReading(time.monotonic(), time.time())
