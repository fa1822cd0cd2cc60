"""Metrics at stage local, whose CloudWatch has none: from the log lines that would give them.

The functions write metrics in the embedded metric format (`daicho.handlers.wiring.metrics`), so a
line of the log has the namespace, the dimensions and the values.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from daicho.operations.cloud_watch import CONFIG, CloudWatch
from daicho.operations.series import MetricRange
from daicho.storage.botocore_errors import AWS_ERRORS, translate_error
from daicho.storage.sessions import open_on_first_use


class LogMetrics(CloudWatch):
    """Alarms of the local CloudWatch, and metrics of the local logs."""

    def __init__(self, client: Any = None, logs: Any = None) -> None:
        super().__init__(client)
        self._logs = logs or open_on_first_use("logs", CONFIG)

    def read_values(self, wanted: MetricRange) -> dict[int, float]:
        """See `CloudWatch.read_values`."""
        values: dict[int, float] = {}
        try:
            for line in self._read_lines(wanted):
                if not _is_of(line, wanted):
                    continue
                at = int(line["_aws"]["Timestamp"]) // 1000 // wanted.period * wanted.period
                value, earlier = float(line[wanted.metric]), values.get(at)
                if earlier is None:
                    values[at] = value
                elif wanted.statistic == "Maximum":
                    values[at] = max(earlier, value)
                else:
                    values[at] = earlier + value
        except AWS_ERRORS as error:
            raise translate_error(error, "read the logs") from error
        return values

    def _read_lines(self, wanted: MetricRange) -> Iterator[Mapping[str, Any]]:
        groups = self._logs.get_paginator("describe_log_groups").paginate()
        for group in (each["logGroupName"] for page in groups for each in page["logGroups"]):
            pages = self._logs.get_paginator("filter_log_events").paginate(
                logGroupName=group, startTime=wanted.begin * 1000, endTime=wanted.end * 1000
            )
            for event in (each for page in pages for each in page["events"]):
                if line := _parse_line(event["message"]):
                    yield line


def _parse_line(text: str) -> Mapping[str, Any] | None:
    """A line with metrics; None for any other line."""
    if '"_aws"' not in text:
        return None
    try:
        line = json.loads(text)
    except ValueError:
        return None
    return line if isinstance(line, Mapping) and isinstance(line.get("_aws"), Mapping) else None


def _is_of(line: Mapping[str, Any], wanted: MetricRange) -> bool:
    """Whether a line has the metric, and lies in the range."""
    namespaces = {each.get("Namespace") for each in line["_aws"].get("CloudWatchMetrics", ())}
    at = int(line["_aws"].get("Timestamp", 0)) // 1000
    return (
        wanted.metric in line
        and wanted.namespace in namespaces
        and wanted.begin <= at < wanted.end
        and all(line.get(name) == value for name, value in wanted.dimensions.items())
    )
