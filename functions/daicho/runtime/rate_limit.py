"""A bounded rate: items or capacity units a second, of all threads together."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

RAISE_SHARE = 0.02
"""The part of the asked rate by which a lowered rate rises each second."""
LOWEST_SHARE = 1 / 64
"""The part of the asked rate below which throttling does not lower it."""
SLOW_DOWN_INTERVAL_S = 1.0
"""Requests of several threads that are throttled at once lower the rate once."""


@dataclass
class RateLimiter:
    """Lets ``rate`` items or units a second pass; ``rate`` None: no limit.

    `slow_down` halves the rate, which then rises slowly to ``rate`` again. ``effective``: the rate
    at this moment; a caller may give that of an earlier limiter.
    """

    rate: float | None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    effective: float | None = None
    _free: float = field(default=0.0, init=False)
    _changed: float | None = field(default=None, init=False)
    _slowed: float | None = field(default=None, init=False)
    _lock: Lock = field(default_factory=Lock, init=False)

    def __post_init__(self) -> None:
        if self.rate is None or self.effective is None:
            self.effective = self.rate
        else:
            self.effective = min(self.rate, max(self.effective, self.rate * LOWEST_SHARE))

    def wait(self, items: float) -> None:
        """Wait until these may pass; what is counted only afterwards delays the next ones."""
        if self.rate is None:
            return
        with self._lock:
            now = self.clock()
            begin = max(self._free, now)
            self._free = begin + items / self._raise_effective(self.rate, now)
        if begin > now:
            self.sleep(begin - now)

    def slow_down(self) -> None:
        """Halve the rate, because a request was throttled. Without a rate this does nothing."""
        if self.rate is None:
            return
        with self._lock:
            now = self.clock()
            effective = self._raise_effective(self.rate, now)
            if self._slowed is None or now >= self._slowed + SLOW_DOWN_INTERVAL_S:
                self.effective = max(effective / 2, self.rate * LOWEST_SHARE)
                self._slowed = now

    def _raise_effective(self, rate: float, now: float) -> float:
        """The rate at this moment: higher than before, unless it is the asked one."""
        since = now if self._changed is None else self._changed
        self._changed = now
        raised = (self.effective or rate) + rate * RAISE_SHARE * (now - since)
        self.effective = min(rate, raised)
        return self.effective
