"""The command `daicho verify` on a table: what it starts, refuses and prints; its exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from daicho.jobs.lease import JobStore
from daicho.runtime.clock import utc_now
from daicho.storage.attributes import ItemKey
from daicho.storage.table import Table
from daicho.verify.findings import Finding, Kind, Verdict
from daicho.verify.job import VerifyJob, find_verification
from daicho_cli import aws
from daicho_cli import verify as command
from daicho_cli.main import app
from tests.support.sample_project import describe_stack

Run = Callable[..., Result]
KEY = ItemKey("acme#~User#1", "newest#1")


@pytest.fixture
def started(table: Table, monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, Any]]:
    """The inputs of the executions that the command starts; all but the first end at once."""
    inputs: list[Mapping[str, Any]] = []

    def start(name: str, given: Mapping[str, Any]) -> None:
        assert name == given["job"]
        inputs.append(given)
        if len(inputs) > 1:
            end(table)

    machines = {"arn:aws:states:::jobs": SimpleNamespace(start=start)}
    monkeypatch.setattr(aws, "StateMachine", lambda arn, *_: machines[arn])
    monkeypatch.setattr(command, "WATCH_S", 0.0)
    return inputs


@pytest.fixture
def run(project: Path, dynamo: str, table_name: str) -> Run:
    stack = describe_stack(project, table_name, dynamo)

    def call(*options: str) -> Result:
        given = ["verify", "--stack", str(stack), *options]
        return CliRunner().invoke(app, given, env={"COLUMNS": "200"})

    return call


def read_job(table: Table) -> VerifyJob:
    job = find_verification(table)
    assert job is not None
    return job


def end(table: Table, *findings: Finding, state: Any = "succeeded", **values: Any) -> None:
    """End the verification of the table with findings."""
    job = read_job(table)
    job.state, job.findings = state, []
    job.counts = {name: float(count) for name, count in values.items()}
    job.add_findings(findings)
    JobStore(table, utc_now).save(job)


def make_finding(verdict: Verdict = "damage", **values: Any) -> Finding:
    return Finding(Kind.ROW_MISSING, "acme", KEY, "a row", "nothing", verdict, **values)


def test_a_run_is_started_watched_and_printed(
    run: Run, table: Table, started: list[Mapping[str, Any]]
) -> None:
    assert run("--status").exit_code == 2
    first = run("--no-wait", "--sample", "1%", "--repair", "--rate", "50")
    job = read_job(table)
    assert (first.exit_code, job.sample, job.repair, job.rate) == (1, 0.01, True, 50)
    assert f"verification {job.id}: running" in first.stdout
    beside = run("--no-wait")
    assert (beside.exit_code, len(started)) == (2, 1)
    assert f"verification {job.id} is under way" in beside.output
    end(table, state="failed")
    assert run("--status").exit_code == 2
    again = run()
    assert (again.exit_code, len(started)) == (0, 2)
    assert "clean · 0 items and 0 rows" in again.stdout


@pytest.mark.parametrize(
    ("findings", "code", "line"),
    [
        ((), 0, "clean"),
        ((make_finding(),), 3, "damage  acme  row missing  acme#~User#1  newest#1  expected a row"),
        ((make_finding("undecided"),), 4, "undecided  acme  row missing"),
        ((make_finding(repaired=True),), 5, "repaired  acme  row missing"),
        ((make_finding(decision="put it"),), 3, "  needs a decision: put it"),
    ],
)
def test_the_exit_code_is_that_of_the_outcome(
    run: Run,
    table: Table,
    started: list[Mapping[str, Any]],
    findings: tuple[Finding, ...],
    code: int,
    line: str,
) -> None:
    run("--no-wait")
    end(table, *findings, items=7, rows=9, lag=2, repair_units=30)
    result = run("--status")
    assert (result.exit_code, line in result.stdout) == (code, True), result.stdout
    assert "lag  2 items were behind the stream: not damage" in result.stdout
    assert "--repair writes about 30 units, $0.00" in result.stdout
    shown = json.loads(run("--status", "--json").stdout)
    assert (shown["counts"]["items"], len(shown["findings"])) == (7, len(findings))
    assert len(started) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--sample", "1 percent"), "--sample '1 percent' is no percentage: 1%"),
        (("--sample", "0%"), "--sample '0%' is not above 0 and up to 100 %"),
        (("--sample", "101%"), "--sample '101%' is not above 0 and up to 100 %"),
        (("--entity", "Nobody"), "no entity is called Nobody"),
        (("--tenant", "Ac me/"), "tenant"),
    ],
)
def test_options_without_a_meaning_start_nothing(
    run: Run, table: Table, started: list[Any], options: tuple[str, ...], message: str
) -> None:
    result = run("--no-wait", *options)
    assert (result.exit_code, started) == (2, []), result.output
    assert message in " ".join(result.output.split())
    assert find_verification(table) is None


def test_a_table_that_does_not_exist_is_a_sentence(run: Run, project: Path, dynamo: str) -> None:
    describe_stack(project, "another", dynamo)
    result = run("--status")
    assert (result.exit_code, "Traceback" in result.output) == (2, False)
    assert "verify could not run" in result.output
