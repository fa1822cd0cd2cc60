"""Alarms, whom they notify, and the metrics that they and the dashboard watch."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from daicho.archive.audit import AuditReport
from daicho.archive.forgetter import ForgetRunReport
from daicho.cdk import STAGES, DaichoStack
from daicho.cdk.observability.alarms import REMEDIES
from daicho.errors import SettingsError
from daicho.runtime.metrics import (
    ARCHIVE_METRIC,
    MAINTENANCE_METRIC,
    emit,
    emit_damage,
    emit_problems,
    emit_throttle,
)
from daicho.sweep import Report as SweepReport
from daicho.tally.rollup import RollupReport
from daicho_cli.cost.footprint import SCHEDULED_MINUTES
from tests.docs.links import list_anchors
from tests.infra.synthesis import Synthesis
from tests.support.idle_costs import WatchedMetric, list_alarm_metrics, list_dashboards
from tests.support.metric_lines import parse_metrics
from tests.support.repository import PROJECT, ROOT

RUNBOOK = "docs/how-to/respond-to-alarms.md"
REFERENCE = "docs/reference/metrics-and-alarms.md"
GENERAL_SECTION = "find-the-alarm-and-the-log"
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
ALARM_ROW = re.compile(
    r"^\| .*?\| ([^|]+) \| `(\w+)`[^|]*, (\w+) \| [^|]+ \| (\d+) of (\d+) min \|$", re.MULTILINE
)
STATISTICS = {"Maximum": "maximum", "Sum": "sum", "p95": "p95"}
EMITTED = {
    "rollup": {*RollupReport(oldest_mark="2026-11-23T00:00:00+00:00").counts(), "RollupLag"},
    "audit": {*AuditReport().counted, *AuditReport().problems},
    "forget": {*ForgetRunReport().counted, *ForgetRunReport().problems},
    "sweep": {
        "OldGenerationWritten",
        *(f"Sweep{name.capitalize()}" for name in vars(SweepReport())),
    },
    "project": {"RecordsQuarantined", "ClaimsOpen"},
    "jobs": {"JobsBlocked"},
}
"""What each function may emit. The tests of the functions run them."""


def alarms(stage: Synthesis) -> list[dict[str, Any]]:
    return [each["Properties"] for each in stage.resources("CloudWatch::Alarm").values()]


def watched(stage: Synthesis, metric: str) -> list[dict[str, Any]]:
    return [each for each in alarms(stage) if each.get("MetricName") == metric]


def custom_metrics(stage: Synthesis) -> set[WatchedMetric]:
    """The custom metrics that alarms or the dashboard watch."""
    (board,) = list_dashboards(stage.template)
    metrics = {*list_alarm_metrics(stage.template), *board}
    return {metric for metric in metrics if not metric.namespace.startswith("AWS/")}


def to_dimensions(**values: str) -> frozenset[tuple[str, str]]:
    return frozenset((name, json.dumps(value)) for name, value in values.items())


def test_alarms_may_publish_to_the_topic_of_the_stack(prod: Synthesis) -> None:
    """A policy replaces the default one, so it must allow what the default one allows."""
    (topic,) = prod.resources("SNS::Topic")
    statements = prod.only("SNS::TopicPolicy")["Properties"]["PolicyDocument"]["Statement"]
    (allowed,) = (each for each in statements if each["Effect"] == "Allow")
    assert allowed["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert allowed["Action"] == "sns:Publish"
    assert allowed["Resource"] == {"Ref": topic}
    account = {"Ref": "AWS::AccountId"}
    assert allowed["Condition"] == {"StringEquals": {"aws:SourceAccount": account}}
    (denied,) = (each for each in statements if each["Effect"] == "Deny")
    assert denied["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_production_whose_alarms_notify_nobody_is_refused(tmp_path: Path) -> None:
    app = cdk.App(outdir=str(tmp_path), analytics_reporting=False)
    with pytest.raises(SettingsError, match=r"notify nobody: set alarm_email .* alarm_topic"):
        DaichoStack(app, project=PROJECT, settings=STAGES["prod"])
    wrong = replace(STAGES["dev"], alarm_topic="oncall")
    with pytest.raises(SettingsError, match="alarm_topic is 'oncall', not the ARN"):
        DaichoStack(app, project=PROJECT, settings=wrong)


def test_each_alarm_links_to_its_section_and_each_section_has_an_alarm(
    any_stage: Synthesis,
) -> None:
    links, page_text = set(), (ROOT / RUNBOOK).read_text("utf-8")
    for alarm in alarms(any_stage):
        text, _, link = alarm["AlarmDescription"].rpartition(" ")
        assert text.startswith("Daicho: ")
        assert text.endswith(".")
        page, _, anchor = link.partition("#")
        assert page == RUNBOOK
        links.add(anchor)
    sections = {to_anchor(title) for title in SECTION.findall(page_text)}
    assert sections <= list_anchors(ROOT / RUNBOOK).keys()
    assert links == sections - {GENERAL_SECTION, to_anchor(OF_EVENTS)}


OF_EVENTS = "events wait"
"""Only where events are published: see `tests.infra.test_events`."""
DESCRIPTION = re.compile(r"[^:]+: (?P<what>[^.]+\. .+?) (?P<remedy>To do: .+) \S+#(?P<anchor>\S+)")


def test_the_description_of_an_alarm_has_the_remedy_of_its_section(any_stage: Synthesis) -> None:
    page = f"{(ROOT / RUNBOOK).read_text('utf-8')}\n## "
    for alarm in alarms(any_stage):
        description = alarm["AlarmDescription"]
        assert len(description) <= 1_024
        parts = DESCRIPTION.fullmatch(description)
        assert parts is not None, description
        assert parts["remedy"] in find_section(page, parts["anchor"])
    assert len(REMEDIES) == page.count("\n## ") - 2  # the last one is added here


def find_section(page: str, anchor: str) -> str:
    """The text of a section of a page in one line."""
    for section in page.split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        if to_anchor(title) == anchor:
            return " ".join(text.split())
    raise KeyError(anchor)


def to_anchor(title: str) -> str:
    """The anchor of a heading without other punctuation than commas."""
    return title.lower().replace(",", "").replace(" ", "-")


def test_each_promise_of_the_reference_has_its_alarm(any_stage: Synthesis) -> None:
    rows = ALARM_ROW.findall((ROOT / REFERENCE).read_text("utf-8"))
    listed = sorted(row for row in rows if row[0] != OF_EVENTS)
    assert len({name for name, *_ in listed}) == len(listed) > 20
    raised = sorted(
        (
            alarm["AlarmDescription"].split(": ")[1].split(".")[0],
            alarm["MetricName"],
            STATISTICS[alarm.get("Statistic") or alarm["ExtendedStatistic"]],
            str(alarm["EvaluationPeriods"]),
            str(alarm["Period"] // 60),
        )
        for alarm in alarms(any_stage)
    )
    assert listed == raised


def test_errors_of_all_functions_but_the_rollup_are_counted_in_one_metric(
    any_stage: Synthesis,
) -> None:
    (alarm,) = watched(any_stage, "FunctionErrors")
    assert "Dimensions" not in alarm
    counted = set()
    for each in any_stage.resources("Logs::MetricFilter").values():
        (metric,) = each["Properties"]["MetricTransformations"]
        if metric["MetricName"] == alarm["MetricName"]:
            assert metric == {
                "MetricName": alarm["MetricName"],
                "MetricNamespace": alarm["Namespace"],
                "MetricValue": "1",
            }
            pattern = '{ ($.type = "platform.report") && ($.record.status != "success") }'
            assert each["Properties"]["FilterPattern"] == pattern
            counted.add(each["Properties"]["LogGroupName"]["Ref"])
    functions = [each["Properties"] for each in any_stage.resources("Lambda::Function").values()]
    handlers = {each["LoggingConfig"]["LogGroup"]["Ref"]: each["Handler"] for each in functions}
    others = {group for group, handler in handlers.items() if group not in counted}
    assert {handlers[group].split(".")[-2] for group in others} == {"rollup", "release"}
    assert len(counted) == len(functions) - 2


def test_functions_emit_the_dimensions_that_are_watched(
    any_stage: Synthesis, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "any")
    emitted = set()
    for function, names in EMITTED.items():
        for name, value in any_stage.environment(function).items():
            if name == "STAGE" or name.startswith("POWERTOOLS_"):
                monkeypatch.setenv(name, value)
        emit(dict.fromkeys(names, 1))
        emit_damage(1)
        emit_throttle()
        if function == "audit":
            emit_problems(ARCHIVE_METRIC, AuditReport(mismatches=1).problems)
        if function == "jobs":
            emit_problems(MAINTENANCE_METRIC, {"JobsBlocked": 1})
        emitted |= {
            WatchedMetric(each.namespace, each.name, to_dimensions(**dict(each.dimensions)))
            for each in parse_metrics(capsys.readouterr().out)
        }
    emitted.add(read_filtered_metric(any_stage))
    assert len(emitted) == sum(map(len, EMITTED.values())) + 5  # four for all functions
    watched_metrics = {
        metric for metric in custom_metrics(any_stage) if metric.name != "FunctionErrors"
    }
    assert len(watched_metrics) > 15
    assert watched_metrics <= emitted


def read_filtered_metric(stage: Synthesis) -> WatchedMetric:
    """The metric that is counted in the access log."""
    (metric,) = (
        metric
        for each in stage.resources("Logs::MetricFilter").values()
        for metric in each["Properties"]["MetricTransformations"]
        if metric["MetricName"] == "Answered429"
    )
    access = stage.only("ApiGatewayV2::Stage")["Properties"]["AccessLogSettings"]
    line = json.loads(access["Format"])
    values = {each["Key"]: line[each["Value"].removeprefix("$.")] for each in metric["Dimensions"]}
    return WatchedMetric(metric["MetricNamespace"], metric["MetricName"], to_dimensions(**values))


def test_stages_share_none_of_their_custom_metrics(dev: Synthesis, prod: Synthesis) -> None:
    assert custom_metrics(dev)
    assert not custom_metrics(dev) & custom_metrics(prod)


def test_each_period_of_an_alarm_has_a_run_of_a_function_that_may_report(
    any_stage: Synthesis,
) -> None:
    """Otherwise a run that is some seconds late leaves a period without data, and no alarm."""
    (archive,) = watched(any_stage, ARCHIVE_METRIC)
    assert archive["Period"] * archive["EvaluationPeriods"] >= 2 * 3600
    (maintenance,) = watched(any_stage, MAINTENANCE_METRIC)
    assert maintenance["Period"] >= 2 * 300
    for name, minutes in SCHEDULED_MINUTES.items():
        (alarm,) = (
            alarm
            for alarm in watched(any_stage, "Invocations")
            if alarm["Dimensions"][0]["Value"] == {"Ref": any_stage.function_id(name)}
        )
        assert alarm["TreatMissingData"] == "breaching"
        assert alarm["Period"] * alarm["EvaluationPeriods"] >= 2 * 60 * minutes


def test_the_dashboard_shows_throttles_of_the_table_and_of_each_index(any_stage: Synthesis) -> None:
    table = any_stage.only("DynamoDB::GlobalTable")["Properties"]
    indexes = [json.dumps(each["IndexName"]) for each in table["GlobalSecondaryIndexes"]]
    (board,) = list_dashboards(any_stage.template)
    for metric in ("ReadThrottleEvents", "WriteThrottleEvents"):
        places = [
            dict(each.dimensions).get("GlobalSecondaryIndexName", "")
            for each in board
            if each.name == metric
        ]
        assert sorted(places) == sorted(["", *indexes])
