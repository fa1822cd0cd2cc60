"""A clock that stands until somebody moves it."""

from __future__ import annotations

import datetime as dt

BEGAN = dt.datetime(2026, 11, 21, 23, 58, tzinfo=dt.UTC)


class Clock:
    """The time of everything in a schedule; a day ends soon after its start."""

    def __init__(self) -> None:
        self._at = BEGAN

    def now(self) -> dt.datetime:
        """The time."""
        return self._at

    def pass_(self, seconds: float) -> None:
        """Let time pass."""
        self._at += dt.timedelta(seconds=seconds)
