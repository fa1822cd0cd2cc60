"""A clock that moves only when it is advanced."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

START = dt.datetime(2026, 11, 21, 23, 58, tzinfo=dt.UTC)
"""Two minutes before midnight: a day ends soon after the start of each schedule."""
LONG_PAUSE_S = 3600.0
"""An advance by so many seconds or more is a pause in which nothing is simulated."""


class SimulatedClock:
    """The time of everything in a schedule or a test.

    Attributes:
        advanced_seconds: the sum of all advances.
        advanced_seconds_without_pauses: the same without advances of an hour or more.
        before_advance: called with the seconds of each advance, before it.
    """

    def __init__(self, start: dt.datetime = START) -> None:
        self._now = start
        self.advanced_seconds = 0.0
        self.advanced_seconds_without_pauses = 0.0
        self.before_advance: list[Callable[[float], None]] = []

    def now(self) -> dt.datetime:
        """The time, in UTC."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Let ``seconds`` pass."""
        for prepare in self.before_advance:
            prepare(seconds)
        self._now += dt.timedelta(seconds=seconds)
        self.advanced_seconds += seconds
        if seconds < LONG_PAUSE_S:
            self.advanced_seconds_without_pauses += seconds
