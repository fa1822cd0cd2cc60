"""What a deployed stack bills whether it is used or not: resources, and scheduled functions.

The figures are those of the synthesised template, with which a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping

from daicho.runtime.frozen_dataclasses import dataclass
from daicho_cli.cost.units import Units

FREE_DASHBOARD_METRICS = 50
"""The most metrics of a dashboard of the free tier, which has three of them.

Source: https://aws.amazon.com/cloudwatch/pricing/.
"""
WINDOW_MINUTES = 15
"""A stream consumer is invoked at the end of each tumbling window, for each shard."""
ARCHIVE_UNITS = 2.0
"""Write units of an object of the archive: two updates of its chain."""
ARCHIVE_WINDOW_SECONDS = 300
"""How long the archive gathers at the stage `prod`."""
PROJECT_WINDOW_SECONDS = 1
"""How long Lambda collects records for the projector at the stages `dev` and `prod`."""
MAX_BATCH_RECORDS = 1_000
"""The most records of a batch of the projector."""
IDLE_UNITS: Mapping[str, Units] = {
    "sweep": Units(read=1.5),
    "audit": Units(read=1, write=1),
    "forget": Units(read=2),
}
"""Units of a run that finds nothing to do; those of the rollup follow from its settings."""


@dataclass(frozen=True)
class ScheduledRuns:
    """A scheduled function, and its rate."""

    name: str
    minutes: int


@dataclass(frozen=True, kw_only=True)
class Footprint:
    """What a stack has.

    Args:
        alarms: standard alarms, of one metric each.
        dashboards: dashboards that are larger than those of the free tier.
        metrics: the custom metrics that the stack emits without any traffic.
        keys: KMS keys of the account itself.
        scheduled: the scheduled functions.
        memory_mb: the memory of each function that is billed here. Jobs, redrives and operators'
            requests are on demand.
    """

    alarms: int
    dashboards: int
    metrics: int
    keys: int
    scheduled: tuple[ScheduledRuns, ...]
    memory_mb: Mapping[str, int]


STACK = Footprint(
    alarms=51,
    dashboards=0,
    metrics=2,
    keys=0,
    scheduled=(
        ScheduledRuns("rollup", 1),
        ScheduledRuns("audit", 60),
        ScheduledRuns("forget", 60),
        ScheduledRuns("sweep", 5),
    ),
    memory_mb={
        "api": 1024,
        "project": 1769,
        "archive": 1024,
        "rollup": 512,
        "sweep": 512,
        "audit": 3008,
        "forget": 1024,
    },
)
"""The stack of the stages dev and prod, as they are without options."""
BUSY_METRICS = 6
"""The custom metrics that writes add: the lag, tallies, slots and units of rollups."""
