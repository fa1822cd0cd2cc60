"""Lambda `jobs`: a step that is blocked is a metric, which raises an alarm."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from daicho.handlers import jobs
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.jobs.step import JobStep
from daicho.plan import Ledger
from daicho.rebuild.stack_jobs import StackJobs
from tests.support.metric_lines import read_values
from tests.support.stream_pump import Context, environment

STEP = {"tenant": "", "job": "20261123T000000-0"}


@pytest.mark.parametrize(
    ("step", "metrics"),
    [
        (JobStep(done=False, wait=60, blocked=True), {"JobsBlocked": 1, "MaintenanceProblems": 1}),
        (JobStep(done=False, wait=60), {}),
    ],
)
def test_a_blocked_step_is_counted(
    step: JobStep,
    metrics: dict[str, float],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stack_jobs = SimpleNamespace(run_step=lambda *_: step)
    monkeypatch.setattr(StackJobs, "build", lambda *_, **__: stack_jobs)
    table: Any = SimpleNamespace(with_metering=lambda: None)
    dependencies = Dependencies(
        table=lambda *_, **__: table, bucket=lambda *_, **__: table, stream=lambda _: table
    )
    environ = environment("table", SETTLE_SECONDS="8", SCAN_UNITS="1000")
    answer = jobs.build(environ, Ledger({}), dependencies)(STEP, Context())
    assert answer == step.to_json()
    assert read_values(capsys.readouterr().out) == metrics
