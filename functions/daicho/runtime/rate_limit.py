"""A bounded rate: items or capacity units a second, of all threads together."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock


@dataclass
class RateLimiter:
    """Lets ``rate`` items or units a second pass; ``rate`` None: no limit."""

    rate: float | None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _free: float = field(default=0.0, init=False)
    _lock: Lock = field(default_factory=Lock, init=False)

    def wait(self, items: float) -> None:
        """Wait until these may pass; what is counted only afterwards delays the next ones."""
        if self.rate is None:
            return
        with self._lock:
            now = self.clock()
            begin = max(self._free, now)
            self._free = begin + items / self.rate
        if begin > now:
            self.sleep(begin - now)
