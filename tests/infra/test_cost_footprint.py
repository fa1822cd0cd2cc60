"""What `daicho cost` bills whether a stack is used or not is what the template has."""

from __future__ import annotations

import re

import pytest

from daicho.cost import footprint
from daicho.cost.units import PROJECTIONS
from tests.infra.synthesis import Synthesis


def test_alarms_and_dashboards(on_aws: Synthesis) -> None:
    assert len(on_aws.resources("CloudWatch::Alarm")) == footprint.ALARMS
    assert len(on_aws.resources("CloudWatch::Dashboard")) == footprint.DASHBOARDS


def test_detailed_metrics_of_each_route(on_aws: Synthesis) -> None:
    (stage,) = on_aws.resources("ApiGatewayV2::Stage").values()
    detailed = stage["Properties"]["DefaultRouteSettings"].get("DetailedMetricsEnabled", False)
    routes = len(on_aws.resources("ApiGatewayV2::Route"))
    assert (6 * routes if detailed else 0) == footprint.ROUTE_METRICS


def test_schedules(on_aws: Synthesis) -> None:
    found = {}
    for schedule in on_aws.resources("Scheduler::Schedule").values():
        properties = schedule["Properties"]
        name = properties["Description"].split(": ")[-1]
        (minutes,) = re.findall(r"rate\((\d+) minutes?\)", properties["ScheduleExpression"])
        found[name] = int(minutes)
    assert found == {run.name: run.minutes for run in footprint.SCHEDULED}


def test_memory_of_the_functions(on_aws: Synthesis) -> None:
    found = {
        properties["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"]: properties["MemorySize"]
        for function in on_aws.resources("Lambda::Function").values()
        for properties in [function["Properties"]]
        if "POWERTOOLS_SERVICE_NAME" in properties.get("Environment", {}).get("Variables", {})
    }
    assert {name: found[name] for name in footprint.MEMORY_MB} == footprint.MEMORY_MB


def test_windows_of_the_consumers(prod: Synthesis) -> None:
    windows = {
        prod.mapping(name)["TumblingWindowInSeconds"] / 60 for name in ("project", "archive")
    }
    assert windows == {footprint.WINDOW_MINUTES}
    archive = prod.mapping("archive")["MaximumBatchingWindowInSeconds"]
    assert archive == footprint.ARCHIVE_WINDOW_SECONDS


def test_projections_of_the_indexes(prod: Synthesis) -> None:
    (table,) = prod.resources("DynamoDB::Table").values()
    found = {
        index["IndexName"]: tuple(index["Projection"].get("NonKeyAttributes", ())) or None
        for index in table["Properties"]["GlobalSecondaryIndexes"]
    }
    assert found == PROJECTIONS


@pytest.mark.parametrize("name", footprint.IDLE_READS)
def test_idle_reads_are_of_scheduled_functions(name: str) -> None:
    assert name in {run.name for run in footprint.SCHEDULED}
