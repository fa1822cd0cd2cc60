"""Metrics in the embedded metric format: a line of JSON that CloudWatch reads out of the log.

By hand, because Powertools' logger and metrics take 38 ms to import over boto3, a third of what
a stream function needs to start. Logs go through `logging`, which the function's JSON log format
structures.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping

NONE: Mapping[str, float] = {}


def emit(counts: Mapping[str, float], seconds: Mapping[str, float] = NONE) -> None:
    """Write metrics, dimensioned by service."""
    service = os.environ.get("POWERTOOLS_SERVICE_NAME", "daicho")
    directive = {
        "Namespace": os.environ.get("POWERTOOLS_METRICS_NAMESPACE", "Daicho"),
        "Dimensions": [["service"]],
        "Metrics": [
            *({"Name": name, "Unit": "Count"} for name in counts),
            *({"Name": name, "Unit": "Seconds"} for name in seconds),
        ],
    }
    line = {
        "_aws": {"Timestamp": time.time_ns() // 1_000_000, "CloudWatchMetrics": [directive]},
        "service": service,
        **counts,
        **seconds,
    }
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
