"""Metrics from log lines are those that the functions emit."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from daicho.errors import UnavailableError
from daicho.handlers.wiring.metrics import emit
from daicho.operations.log_metrics import LogMetrics
from daicho.operations.series import MetricRange, Statistic


class Logs:
    """Two log groups; ``lines`` are in the second one."""

    def __init__(self, *lines: str) -> None:
        self.lines, self.requests = lines, list[dict[str, Any]]()

    def get_paginator(self, operation: str) -> Any:
        self._operation = operation
        return self

    def paginate(self, **request: Any) -> Any:
        if self._operation == "describe_log_groups":
            return [{"logGroups": [{"logGroupName": "a"}]}, {"logGroups": [{"logGroupName": "b"}]}]
        self.requests.append(request)
        found = self.lines if request["logGroupName"] == "b" else ()
        return [{"events": [{"message": line} for line in found]}]


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What the rollup emits in three runs, one of them of another stage."""
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "rollup")
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Daicho")
    for stage, lag in (("local", 3.0), ("local", 2.0), ("dev", 50.0)):
        monkeypatch.setenv("STAGE", stage)
        emit({"SlotsRead": 4}, {"RollupLag": lag})
    return capsys.readouterr().out.splitlines()


def read(lines: list[str], metric: str, statistic: Statistic) -> dict[int, float]:
    now = int(time.time()) // 3600 * 3600
    dimensions = {"stage": "local", "service": "rollup"}
    wanted = MetricRange("Daicho", metric, dimensions, statistic, 3600, now - 3600, now + 7200)
    return LogMetrics(
        object(), Logs("START RequestId: x", "{no json _aws", '"_aws"', *lines)
    ).read_values(wanted)


def test_values_of_a_period_are_added_or_the_highest_is_taken(lines: list[str]) -> None:
    assert list(read(lines, "SlotsRead", "Sum").values()) == [8.0]
    assert list(read(lines, "RollupLag", "Maximum").values()) == [3.0]
    assert read(lines, "SlotsFolded", "Sum") == {}


def test_lines_of_other_times_are_left_out(lines: list[str]) -> None:
    for line in lines:
        document = json.loads(line)
        document["_aws"]["Timestamp"] -= 10 * 3600 * 1000
        lines = [json.dumps(document)]
        assert read(lines, "SlotsRead", "Sum") == {}


def test_silent_logs_are_an_error_of_ours() -> None:
    class Silent(Logs):
        def paginate(self, **request: Any) -> Any:
            raise EndpointConnectionError(endpoint_url="x")

    wanted = MetricRange("Daicho", "x", {}, "Sum", 60, 0, 60)
    with pytest.raises(UnavailableError):
        LogMetrics(object(), Silent()).read_values(wanted)
