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
THROTTLE_METRIC = "RequestsThrottled"
ARCHIVE_METRIC, MAINTENANCE_METRIC = "ArchiveProblems", "MaintenanceProblems"
"""Metrics of a stage, to which several functions add. Each has one alarm."""
SHARED_SERVICE = "all"
"""The dimension ``service`` of these metrics."""
NONE: Mapping[str, float] = {}


def emit(
    counts: Mapping[str, float], seconds: Mapping[str, float] = NONE, *, service: str = ""
) -> None:
    """Write metrics of this stage and service; ``service``: of another name than the function's.

    A metric costs by the hour in which it is written, so values of zero are left out: a missing
    value raises no alarm.
    """
    counted = {name: count for name, count in counts.items() if count}
    timed = {name: value for name, value in seconds.items() if value}
    if not counted and not timed:
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
            *({"Name": name, "Unit": "Seconds"} for name in timed),
        ],
    }
    line = {
        "_aws": {"Timestamp": time.time_ns() // 1_000_000, "CloudWatchMetrics": [directive]},
        **dimensions,
        **counted,
        **timed,
    }
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def emit_problems(metric: str, problems: Mapping[str, float]) -> None:
    """Count problems of several kinds together in ``metric``, and each kind on its own.

    The alarm of their sum costs a tenth of a dollar, and an alarm of each kind as much again.
    """
    emit(problems)
    emit({metric: sum(problems.values())}, service=SHARED_SERVICE)


def emit_damage(items: int) -> None:
    """Count stored items that are not as the library writes them, each time that they are read."""
    emit({DAMAGE_METRIC: items}, service=SHARED_SERVICE)


def emit_throttle() -> None:
    """Count a request that DynamoDB has throttled, or a part of it, if this process is a function.

    A command of a person prints no metrics.
    """
    if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
        emit({THROTTLE_METRIC: 1}, service=SHARED_SERVICE)
