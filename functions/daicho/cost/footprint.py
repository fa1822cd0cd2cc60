"""What a deployed stack bills whether it is used or not: resources, and scheduled functions.

The figures are those of the synthesised template, with which a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ALARMS = 40
DASHBOARDS = 1
IDLE_METRICS = 19
"""Metrics that idle functions emit: rollup 7, sweep 5, audit 4, forget 3."""
BUSY_METRICS = 3
"""Metrics that requests add: answers of the classes 2xx, 3xx and 4xx."""
ROUTE_METRICS = 5 * 6
"""Detailed metrics of the API's routes: six for each of five routes, once there are requests."""
WINDOW_MINUTES = 15
"""A stream consumer is invoked at the end of each tumbling window, for each shard."""

MEMORY_MB: Mapping[str, int] = {
    "api": 1024,
    "project": 1769,
    "archive": 1024,
    "rollup": 512,
    "sweep": 512,
    "audit": 3008,
    "forget": 1024,
}
"""The memory of each function that is billed here. Jobs and redrives run on demand only."""


@dataclass(frozen=True)
class ScheduledRuns:
    """A scheduled function, and its rate."""

    name: str
    minutes: int


SCHEDULED = (
    ScheduledRuns("rollup", 1),
    ScheduledRuns("sweep", 5),
    ScheduledRuns("audit", 60),
    ScheduledRuns("forget", 60),
)
IDLE_READS: Mapping[str, float] = {"sweep": 0.5, "audit": 2.0, "forget": 1.0}
"""Read units of a run that finds nothing to do; those of the rollup follow from its settings."""
ARCHIVE_UNITS = 2.0
"""Write units of an object of the archive: two updates of its chain."""
ARCHIVE_WINDOW_SECONDS = 300
"""How long the archive gathers at the stage `prod`."""
