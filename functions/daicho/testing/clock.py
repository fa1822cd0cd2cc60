"""A clock that moves only when it is advanced."""

from __future__ import annotations

import datetime as dt

START = dt.datetime(2026, 11, 21, 23, 58, tzinfo=dt.UTC)
"""Two minutes before midnight: a day ends soon after the start of each schedule."""


class SimulatedClock:
    """The time of everything in a schedule or a test."""

    def __init__(self, start: dt.datetime = START) -> None:
        self._now = start

    def now(self) -> dt.datetime:
        """The time, in UTC."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Let ``seconds`` pass."""
        self._now += dt.timedelta(seconds=seconds)
