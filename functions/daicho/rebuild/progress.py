"""What a rebuild has done, and how fast it is, measured over the last half minute."""

from __future__ import annotations

import datetime as dt
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from daicho.rebuild.job import RebuildJob

WINDOW_S = 30.0
"""The stretch of time over which speeds are measured, in seconds."""
SHORTEST_S = 1.0
"""The shortest stretch that shows a speed, in seconds."""


@dataclass
class PageCounts:
    """What became of the items of a page."""

    touched: int = 0
    left: dict[str, str] = field(default_factory=dict)


@dataclass
class SpeedMeter:
    """Measures one step of a rebuild, and records the speeds in its job."""

    now: Callable[[], dt.datetime]
    _samples: deque[tuple[dt.datetime, int, float]] = field(default_factory=deque, init=False)

    def begin(self, job: RebuildJob) -> None:
        """Measure from here on."""
        self._samples.clear()
        self._samples.append((self.now(), job.seen, job.counts.get("write_units", 0.0)))

    def measure(self, job: RebuildJob) -> None:
        """Record the speeds of the last half minute, if that much time is over."""
        now, samples = self.now(), self._samples
        units = job.counts.get("write_units", 0.0)
        while len(samples) > 1 and (now - samples[1][0]).total_seconds() >= WINDOW_S:
            samples.popleft()
        began, seen, written = samples[0]
        elapsed = (now - began).total_seconds()
        if elapsed >= SHORTEST_S:
            job.items_per_second = (job.seen - seen) / elapsed
            job.units_per_second = (units - written) / elapsed
        if (now - samples[-1][0]).total_seconds() >= SHORTEST_S:
            samples.append((now, job.seen, units))
