"""What it costs to know up to which time figures are complete (EXACTNESS rule 55). Pure.

Each run of the rollup reads how far every shard of the stream has come. Shards without records get
heartbeats: soon while figures change, and rarely while they do not. See ADR 0174.
"""

from __future__ import annotations

import math

from daicho.layout.heartbeats import count_keys
from daicho.runtime.frozen_dataclasses import dataclass
from daicho_cli.cost.counting import SECONDS_A_DAY, StreamLoad
from daicho_cli.cost.expectation import count_distinct
from daicho_cli.cost.traffic import Traffic
from daicho_cli.cost.units import Units, measure_read

HEARTBEAT_AGE_S = 45
"""The age of the last record at which a shard gets a heartbeat while figures change
(``HEARTBEAT_SECONDS``)."""
IDLE_MINUTES = 15
"""The same while no figure changes."""
KEYS_PER_SHARD, MAX_KEYS = 1.0, 25
"""Heartbeats of one run for each open shard, and at most; a test compares them with the job's."""


@dataclass(frozen=True)
class WatermarkLoad:
    """The units of the table, and how often the failure bucket is listed."""

    units: Units
    listings: float


def estimate_watermark(traffic: Traffic, load: StreamLoad) -> WatermarkLoad:
    """The work that gives figures their ``as_of``, in the period of the traffic."""
    shards, busy = traffic.stream.shards, max(1.0, load.busy_rollups)
    # Runs that find changed figures, and times of quiet minutes at which heartbeats are sent.
    active = busy * -math.expm1(-load.records / busy)
    idle = max(0.0, load.rollups - active) / IDLE_MINUTES
    seconds = max(1.0, traffic.days * SECONDS_A_DAY * traffic.stream.hours_a_day / 24)
    quiet = shards * math.exp(-load.records / seconds / shards * HEARTBEAT_AGE_S)
    heartbeats = active * _count_writes(shards, quiet) + idle * _count_writes(shards, shards)
    # Each run stores the watermark. It reads the watermark, the index of claims, and each shard's
    # item; then the list of recounts.
    begun = measure_read(0) + measure_read(0, consistent=False) + shards * measure_read(0)
    read = load.rollups * begun + (active + idle) * measure_read(0)
    return WatermarkLoad(Units(read=read, write=load.rollups + heartbeats), active + idle)


def _count_writes(shards: float, quiet: float) -> float:
    """Writes that a run causes: heartbeats, and the announcements of quiet shards."""
    sent = min(MAX_KEYS, count_keys(round(shards), round(quiet), KEYS_PER_SHARD))
    reached = count_distinct(shards, sent) * quiet / shards
    return min(1.0, quiet) * sent + reached
