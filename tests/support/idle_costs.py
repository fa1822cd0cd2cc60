"""The cost of an idle stack: from a synthesised template, and as the table of the documentation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from daicho_cli.cost.bill import Bill
from daicho_cli.cost.footprint import ALARMS, IDLE_METRICS, MEMORY_MB

Template = Mapping[str, Any]
FREE_ALARMS = FREE_METRICS = 10
FREE_DASHBOARD_METRICS = 50
"""Of each account, and of each of its three free dashboards. Source: https://aws.amazon.com/cloudwatch/pricing/."""


@dataclass(frozen=True)
class Footprint:
    """What a template has that is billed without any traffic, as `daicho_cli.cost.footprint`."""

    alarms: int
    idle_metrics: int
    scheduled_minutes: Mapping[str, int]
    memory_mb: Mapping[str, int]


@dataclass(frozen=True)
class WatchedMetric:
    """A metric of an alarm or a dashboard: its dimensions by name."""

    namespace: str
    name: str
    dimensions: frozenset[tuple[str, str]]


def list_properties(template: Template, kind: str) -> list[Mapping[str, Any]]:
    """The properties of all resources of a type; ``kind`` without its leading ``AWS::``."""
    resources = template["Resources"].values()
    return [each["Properties"] for each in resources if each["Type"] == f"AWS::{kind}"]


def list_alarm_metrics(template: Template) -> list[WatchedMetric]:
    """The metric of each alarm."""
    return [
        WatchedMetric(
            alarm["Namespace"],
            alarm["MetricName"],
            frozenset((e["Name"], json.dumps(e["Value"])) for e in alarm.get("Dimensions", ())),
        )
        for alarm in list_properties(template, "CloudWatch::Alarm")
    ]


def list_dashboards(template: Template) -> list[list[WatchedMetric]]:
    """The metrics of each dashboard, each as often as it is in a widget."""
    return [
        list(_list_dashboard_metrics(board["DashboardBody"]))
        for board in list_properties(template, "CloudWatch::Dashboard")
    ]


def _list_dashboard_metrics(body: Mapping[str, Any]) -> Iterator[WatchedMetric]:
    # References are parts of texts: each becomes a name in angle brackets.
    parts = body["Fn::Join"][1]
    text = "".join(each if isinstance(each, str) else f"<{_name(each)}>" for each in parts)
    for widget in json.loads(text)["widgets"]:
        for namespace, name, *rest in widget["properties"]["metrics"]:
            texts = [each for each in rest if isinstance(each, str)]
            pairs = zip(texts[::2], texts[1::2], strict=True)
            dimensions = frozenset((key, json.dumps(value)) for key, value in pairs)
            yield WatchedMetric(namespace, name, dimensions)


def _name(reference: Mapping[str, Any]) -> str:
    return re.sub(r"\W+", " ", json.dumps(reference)).strip()


def read_footprint(template: Template) -> Footprint:
    """What a template has that is billed without any traffic.

    Metrics: an alarm that is raised by missing data makes a function emit its metric in each run.
    `tests/integration/cost/test_idle_functions.py` shows that functions emit no others.
    """
    alarms = list_properties(template, "CloudWatch::Alarm")
    functions = {
        properties["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"]: properties["MemorySize"]
        for properties in list_properties(template, "Lambda::Function")
        if "POWERTOOLS_SERVICE_NAME" in properties.get("Environment", {}).get("Variables", {})
    }
    schedules = list_properties(template, "Scheduler::Schedule")
    return Footprint(
        alarms=len(alarms),
        idle_metrics=len(
            {
                each["MetricName"]
                for each in alarms
                if not each["Namespace"].startswith("AWS/")
                and each["TreatMissingData"] == "breaching"
            }
        ),
        scheduled_minutes={
            each["Description"].split(": ")[-1]: _parse_minutes(each["ScheduleExpression"])
            for each in schedules
        },
        memory_mb={name: functions[name] for name in MEMORY_MB},
    )


def _parse_minutes(rate: str) -> int:
    (minutes,) = re.findall(r"rate\((\d+) minutes?\)", rate)
    return int(minutes)


def render_idle_table(bill: Bill) -> str:
    """An idle bill as a table in Markdown, and the sum after the free tier of an account."""
    prices = bill.prices
    watching = {
        "alarms": f"{ALARMS} alarms",
        "metrics": f"{IDLE_METRICS} custom metrics that are emitted without traffic",
    }
    services = {
        "Lambda": "invocations of scheduled functions, and at the end of windows",
        "DynamoDB": "reads and writes of scheduled functions",
    }
    rows: dict[str, float] = {}
    for line in filter(lambda line: line.dollars, bill.lines):
        title = services.get(line.service) or watching.get(line.name) or line.name
        rows[title] = rows.get(title, 0.0) + line.dollars
    free = min(ALARMS, FREE_ALARMS) * prices.alarm
    free += min(IDLE_METRICS, FREE_METRICS) * prices.metric
    cells = [
        ("resource", "$ per month"),
        ("---", "--:"),
        *((name, f"{dollars:.2f}") for name, dollars in rows.items()),
        ("**sum**", f"**{bill.dollars:.2f}**"),
        ("sum after the free 10 alarms and 10 metrics of an account", f"{bill.dollars - free:.2f}"),
    ]
    return "".join(f"| {name} | {dollars} |\n" for name, dollars in cells)
