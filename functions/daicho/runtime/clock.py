"""The clocks: defaults of functions that take a clock as an argument."""

from __future__ import annotations

import datetime as dt
import time

from daicho.runtime.frozen_dataclasses import dataclass


def utc_now() -> dt.datetime:
    """The time at this moment, in UTC."""
    return dt.datetime.now(dt.UTC)


@dataclass(frozen=True)
class ClockReading:
    """What the monotonic clock and the wall clock show at one moment, in seconds.

    Neither clock alone measures how long something is valid. The monotonic clock may stand still
    while Lambda has frozen the execution environment, or a laptop sleeps. The wall clock may be set
    back. So time has passed as soon as one of them says so.
    """

    monotonic: float
    wall: float

    def is_recent(self, now: ClockReading, seconds: float) -> bool:
        """Whether by both clocks less than ``seconds`` have passed since this reading."""
        return 0 <= now.monotonic - self.monotonic < seconds and 0 <= now.wall - self.wall < seconds


def read_clocks() -> ClockReading:
    """Read both clocks at this moment."""
    return ClockReading(time.monotonic(), time.time())
