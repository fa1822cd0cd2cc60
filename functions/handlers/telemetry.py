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


def emit(metrics: Mapping[str, float], *, seconds: frozenset[str] = frozenset()) -> None:
    """Write metrics, dimensioned by service; those named in ``seconds`` are times."""
    service = os.environ.get("POWERTOOLS_SERVICE_NAME", "daicho")
    namespace = os.environ.get("POWERTOOLS_METRICS_NAMESPACE", "Daicho")
    definitions = [
        {"Name": name, "Unit": "Seconds" if name in seconds else "Count"} for name in metrics
    ]
    directive = {"Namespace": namespace, "Dimensions": [["service"]], "Metrics": definitions}
    line = {
        "_aws": {"Timestamp": time.time_ns() // 1_000_000, "CloudWatchMetrics": [directive]},
        "service": service,
        **metrics,
    }
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
