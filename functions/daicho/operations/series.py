"""The series that operators see: an allow-list of the metrics of one stack. Pure.

They are metrics of `daicho.cdk.observability.metrics`; a test compares the two.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Literal

from daicho.errors import Invalid, NotFound
from daicho.runtime.frozen_dataclasses import dataclass

Statistic = Literal["Sum", "Maximum", "p95"]
Source = Literal["custom", "function", "table", "api", "machine"]
"""Who emits a metric: a function of the stack, or AWS for one of its resources."""
MAX_POINTS = 1_440
PERIODS = (60, 300, 900, 3_600, 21_600, 86_400)
"""Seconds. The shortest one is chosen that gives no more than `MAX_POINTS` points."""
KEPT_PERIODS = ((15, 60), (63, 300), (455, 3_600))
"""For how many days CloudWatch keeps values of periods from so many seconds on.

Source: GetMetricStatistics, Amazon CloudWatch API Reference.
"""
DEFAULT_RANGE_S = 3 * 3_600
DAY_S = 86_400


@dataclass(frozen=True)
class Series:
    """One metric. ``service``: the name of the function, if it is one of a function."""

    name: str
    title: str
    unit: str
    metric: str
    source: Source
    statistic: Statistic = "Sum"
    service: str = ""

    def to_json(self) -> dict[str, str]:
        """The series in the list of all of them."""
        return {"name": self.name, "unit": self.unit, "title": self.title}


def _custom(metric: str, service: str, title: str, unit: str = "count") -> Series:
    statistic: Statistic = "Sum" if unit == "count" else "Maximum"
    return Series(metric, title, unit, metric, "custom", statistic, service)


def _of_function(service: str, metric: str, title: str, unit: str) -> Series:
    statistic: Statistic = "Sum" if unit == "count" else "Maximum"
    name = f"{service.capitalize()}{metric}"
    return Series(name, title, unit, metric, "function", statistic, service)


OPEN_CLAIMS = Series(
    *("ClaimsOpen", "Open claims, most of a shard", "count", "ClaimsOpen", "custom"),
    "Maximum",
    "project",
)
PROJECT_AGE = _of_function("project", "IteratorAge", "Iterator age of project", "milliseconds")
MISMATCHES = Series(
    *("ArchiveMismatches", "Archive audit: mismatches", "count", "ArchiveMismatches", "custom"),
    "Maximum",
    "audit",
)
ALL_SERIES = (
    PROJECT_AGE,
    _of_function("archive", "IteratorAge", "Iterator age of archive", "milliseconds"),
    _custom("RollupLag", "rollup", "Rollup lag", "seconds"),
    _custom("RecordsQuarantined", "project", "Records quarantined"),
    OPEN_CLAIMS,
    Series(
        *("OldGenerationWritten", "Entities with an item of an older generation", "count"),
        *("OldGenerationWritten", "custom", "Maximum", "sweep"),
    ),
    _custom("TalliesRolledUp", "rollup", "Tallies rolled up"),
    _custom("TalliesFailed", "rollup", "Tallies that were not rolled up"),
    _custom("SlotsRead", "rollup", "Slots read"),
    _custom("SlotsFolded", "rollup", "Slots folded"),
    _custom("ArchiveRowsAudited", "audit", "Archive audit: rows"),
    _custom("ArchiveDeletionsAudited", "audit", "Archive audit: deletions"),
    MISMATCHES,
    _custom("ArchiveRowsForgotten", "forget", "Archive rows forgotten"),
    Series("ApiRequests", "API requests", "count", "Count", "api"),
    Series("ApiClientErrors", "API answers 4xx", "count", "4xx", "api"),
    Series("ApiLatency", "API latency, p95", "milliseconds", "Latency", "api", "p95"),
    _custom("Answered429", "api", "API answers 429"),
    Series("ReadThrottles", "Throttled reads of the table", "count", "ReadThrottleEvents", "table"),
    Series(
        "WriteThrottles", "Throttled writes of the table", "count", "WriteThrottleEvents", "table"
    ),
    Series("FailedJobs", "Jobs that failed", "count", "ExecutionsFailed", "machine"),
)


@dataclass(frozen=True)
class MetricRange:
    """A stretch of a metric. Times are epoch seconds; ``end`` is exclusive."""

    namespace: str
    metric: str
    dimensions: Mapping[str, str]
    statistic: Statistic
    period: int
    begin: int
    end: int

    def fill(self, values: Mapping[int, float]) -> list[tuple[int, float | None]]:
        """A point for each period; None where there is no value."""
        return [(at, values.get(at)) for at in range(self.begin, self.end, self.period)]


@dataclass(frozen=True)
class StackMetrics:
    """The resources of one stack whose metrics are shown.

    ``functions``: names of functions by service. ``is_local``: the local AWS has custom metrics
    only, in its logs.
    """

    namespace: str
    stage: str
    table: str
    functions: Mapping[str, str]
    api: str = ""
    machine: str = ""

    @property
    def series(self) -> tuple[Series, ...]:
        """The series of this stack."""
        if self.stage != "local":
            return ALL_SERIES
        return tuple(each for each in ALL_SERIES if each.source == "custom")

    def find(self, name: str) -> Series:
        """A series by name.

        Raises:
            NotFound: it is not on the list.
        """
        for series in self.series:
            if series.name == name:
                return series
        raise NotFound(f"no series is called {name[:100]!r}")

    def build_range(
        self, series: Series, begin: int | None, end: int | None, now: dt.datetime
    ) -> MetricRange:
        """The stretch to read, in whole periods; by default the last three hours.

        Raises:
            Invalid: the range is empty, too old, or in the future.
        """
        present = int(now.timestamp())
        end = present if end is None else end
        begin = end - DEFAULT_RANGE_S if begin is None else begin
        oldest = present - KEPT_PERIODS[-1][0] * DAY_S
        if begin >= end:
            raise Invalid("the range must begin before it ends", field="from")
        if begin < oldest:
            raise Invalid(f"metrics are kept for {KEPT_PERIODS[-1][0]} days", field="from")
        if end > present + DAY_S:
            raise Invalid("the range ends in the future", field="to")
        period = choose_period(begin, end, present)
        namespace, dimensions = self._locate(series)
        return MetricRange(
            namespace,
            series.metric,
            dimensions,
            series.statistic,
            period,
            begin // period * period,
            -(-end // period) * period,
        )

    def _locate(self, series: Series) -> tuple[str, Mapping[str, str]]:
        """The namespace and the dimensions of a series."""
        match series.source:
            case "custom":
                return self.namespace, {"stage": self.stage, "service": series.service}
            case "function":
                return "AWS/Lambda", {"FunctionName": self.functions[series.service]}
            case "table":
                return "AWS/DynamoDB", {"TableName": self.table}
            case "api":
                return "AWS/ApiGateway", {"ApiId": self.api}
            case "machine":
                return "AWS/States", {"StateMachineArn": self.machine}


def choose_period(begin: int, end: int, now: int) -> int:
    """The shortest period that has few enough points, and is still kept for the oldest of them."""
    age_days = (now - begin) / DAY_S
    kept = next(period for days, period in KEPT_PERIODS if age_days <= days or period == 3_600)
    return next(
        period
        for period in PERIODS
        if period >= kept and -(-end // period) - begin // period <= MAX_POINTS
    )
