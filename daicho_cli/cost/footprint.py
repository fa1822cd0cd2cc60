"""What a deployed stack bills whether it is used or not: resources, and scheduled functions.

The figures are those of the stages `dev` and `prod` without options; a test compares them with the
synthesised template.
"""

from __future__ import annotations

from collections.abc import Mapping

from daicho_cli.cost.units import Units

ALARMS = 26
"""Standard alarms, of one metric each."""
IDLE_METRICS, BUSY_METRICS = 0, 6
"""The custom metrics that the stack emits without any traffic, and those that writes add: the lag,
tallies, slots and units of rollups."""
SCHEDULED_MINUTES: Mapping[str, int] = {"rollup": 1, "audit": 60, "forget": 60, "sweep": 5}
"""The rate of each scheduled function."""
MEMORY_MB: Mapping[str, int] = {
    "api": 1024,
    "project": 1769,
    "archive": 1024,
    "rollup": 512,
    "sweep": 512,
    "audit": 3008,
    "forget": 1024,
}
"""The memory of each function that is billed here. Jobs, redrives and operators' requests are on
demand."""
PUBLISH_MB, SUBSCRIBE_MB = 512, 1024
"""The memory of the functions that exist only where something is published or subscribed to."""
HANDLED_EVENT = Units(read=1, write=2)
"""Units of an event of a subscriber that arrives alone: whether its tenant is closed, and its
record, at the beginning and at the end. What the function itself does comes on top."""
DIRTY_SHARDS = 16
"""Partitions of GSI2 that a rollup reads."""
WINDOW_MINUTES = 15
"""A stream consumer is invoked at the end of each tumbling window, for each shard."""
ARCHIVE_UNITS = 2.0
"""Write units of an object of the archive: two updates of its chain."""
ARCHIVE_WINDOW_SECONDS = 300
"""How long the archive gathers at the stage `prod`."""
PROJECT_WINDOW_SECONDS = 1
"""How long Lambda collects records for the projector at the stages `dev` and `prod`."""
EVENT_WINDOW_SECONDS = 1
"""How long the archive gathers where something is published."""
EVENT_REQUESTS = 3
"""Requests of an event to its queue, sent, received and deleted alone; fewer if there are many."""
IDLE_POLLS_PER_DAY = 5 * 3 * 60 * 24
"""Requests of Lambda's five pollers to a queue that is empty: each waits for 20 seconds. Source:
"Using Lambda with Amazon SQS", AWS Lambda Developer Guide."""
MAX_BATCH_RECORDS = 1_000
"""The most records of a batch of the projector."""
IDLE_UNITS: Mapping[str, Units] = {
    "audit": Units(read=1, write=1),
    "forget": Units(read=2),
    "sweep": Units(read=2.5),
}
"""Units of a run that finds nothing to do; those of the rollup follow from its settings."""
