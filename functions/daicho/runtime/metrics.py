"""Metrics in the embedded metric format: a line of JSON that CloudWatch reads from the log.

This module writes them itself, because Powertools' logger and metrics take 38 ms to import on top
of boto3, a third of the start of a stream function. Logs go through `logging`, and the function's
JSON log format structures them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping

DAMAGE_METRIC = "StoredDataDamaged"
NONE: Mapping[str, float] = {}


def emit(
    counts: Mapping[str, float], seconds: Mapping[str, float] = NONE, *, service: str = ""
) -> None:
    """Write metrics of this stage and service; ``service``: of another name than the function's.

    A metric costs by the hour in which it is written, so counts of zero are left out: a missing
    count raises no alarm. ``seconds`` are always written: some alarms are raised by their absence.
    """
    counted = {name: count for name, count in counts.items() if count}
    if not counted and not seconds:
        return
    dimensions = {
        "stage": os.environ.get("STAGE", "local"),
        "service": service or os.environ.get("POWERTOOLS_SERVICE_NAME", "daicho"),
    }
    directive = {
        "Namespace": os.environ.get("POWERTOOLS_METRICS_NAMESPACE", "Daicho"),
        "Dimensions": [list(dimensions)],
        "Metrics": [
            *({"Name": name, "Unit": "Count"} for name in counted),
            *({"Name": name, "Unit": "Seconds"} for name in seconds),
        ],
    }
    line = {
        "_aws": {"Timestamp": time.time_ns() // 1_000_000, "CloudWatchMetrics": [directive]},
        **dimensions,
        **counted,
        **seconds,
    }
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def emit_damage(items: int) -> None:
    """Count stored items that are not as the library writes them, each time that they are read.

    All functions count in one metric, which has one alarm.
    """
    emit({DAMAGE_METRIC: items}, service="table")
