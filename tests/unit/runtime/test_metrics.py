"""Lines in the embedded metric format."""

from __future__ import annotations

import json

import pytest

from daicho.runtime.metrics import ARCHIVE_METRIC, emit, emit_problems, emit_throttle
from tests.support.metric_lines import EmittedMetric, parse_metrics


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAGE", "prod")
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "rollup")
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Shop")


def test_the_dimensions_are_stage_and_service(capsys: pytest.CaptureFixture[str]) -> None:
    emit({"SlotsRead": 3}, {"RollupLag": 0.5})
    written = capsys.readouterr().out
    (directive,) = json.loads(written)["_aws"]["CloudWatchMetrics"]
    assert directive["Dimensions"] == [["stage", "service"]]
    units = {metric["Name"]: metric["Unit"] for metric in directive["Metrics"]}
    assert units == {"SlotsRead": "Count", "RollupLag": "Seconds"}
    dimensions = frozenset({("stage", "prod"), ("service", "rollup")})
    assert list(parse_metrics(written)) == [
        EmittedMetric("Shop", "SlotsRead", dimensions, 3),
        EmittedMetric("Shop", "RollupLag", dimensions, 0.5),
    ]


def test_values_of_zero_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    emit({"SlotsRead": 0, "SlotsFolded": 2}, {"RollupLag": 0})
    (metrics,) = capsys.readouterr().out.splitlines()
    assert {each.name for each in parse_metrics(metrics)} == {"SlotsFolded"}


def test_problems_are_counted_together_and_each_on_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    emit_problems(ARCHIVE_METRIC, {"ArchiveMismatches": 2, "ArchiveAuditOverdue": 1})
    emit_problems(ARCHIVE_METRIC, {"ArchiveMismatches": 0, "ArchiveAuditOverdue": 0})
    own, shared = (frozenset({("stage", "prod"), ("service", name)}) for name in ("rollup", "all"))
    assert list(parse_metrics(capsys.readouterr().out)) == [
        EmittedMetric("Shop", "ArchiveMismatches", own, 2),
        EmittedMetric("Shop", "ArchiveAuditOverdue", own, 1),
        EmittedMetric("Shop", "ArchiveProblems", shared, 3),
    ]


def test_throttles_are_metrics_of_functions_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("AWS_LAMBDA_FUNCTION_NAME", raising=False)
    emit_throttle()
    assert capsys.readouterr().out == ""
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "api")
    emit_throttle()
    assert [each.name for each in parse_metrics(capsys.readouterr().out)] == ["RequestsThrottled"]
