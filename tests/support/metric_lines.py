"""The metrics that functions write as lines in CloudWatch's embedded metric format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class EmittedMetric:
    """One value of a metric; ``dimensions`` by name."""

    namespace: str
    name: str
    dimensions: frozenset[tuple[str, str]]
    value: float


def parse_metrics(written: str) -> Iterator[EmittedMetric]:
    """The metrics of all lines of a standard output; other lines are logs."""
    for line in written.splitlines():
        document = json.loads(line) if line.startswith("{") else {}
        for directive in document.get("_aws", {}).get("CloudWatchMetrics", ()):
            for names in directive["Dimensions"]:
                dimensions = frozenset((name, document[name]) for name in names)
                for metric in directive["Metrics"]:
                    name = metric["Name"]
                    yield EmittedMetric(
                        directive["Namespace"], name, dimensions, float(document[name])
                    )


def read_values(written: str) -> dict[str, float]:
    """The last value of each metric, by name."""
    return {metric.name: metric.value for metric in parse_metrics(written)}
