"""Lines in the embedded metric format."""

from __future__ import annotations

import json

import pytest

from daicho.runtime.metrics import emit
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


def test_counts_of_zero_are_left_out_and_ages_of_zero_are_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    emit({"ArchiveMismatches": 0, "ArchiveRowsAudited": 2}, {"ArchiveAuditAge": 0})
    (metrics,) = capsys.readouterr().out.splitlines()
    assert {each.name for each in parse_metrics(metrics)} == {
        "ArchiveRowsAudited",
        "ArchiveAuditAge",
    }
