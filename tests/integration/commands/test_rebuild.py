"""The command `daicho rebuild` on a table: what it would do, and how it changes a job."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from daicho.rebuild.job import RebuildJob
from daicho.rebuild.requests import find_job
from daicho.storage.table import Table
from daicho_cli import aws
from daicho_cli.main import app
from tests.support.planned_project import (
    ChangingProject,
    record_release,
    render_module,
    write_users,
)
from tests.support.sample_project import describe_stack

Run = Callable[..., Result]
FIRST = render_module("newest = Listing()")
SECOND = render_module(
    "newest = Listing()", "search = Search(name)", "by_country = Aggregate(Count(), country)"
)
ADA = {"name": "Ada", "email": "ada@example.com", "country": "uk"}


@pytest.fixture
def changed(tmp_path: Path, table: Table, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose second version is deployed, with 30 users of the first one; its folder."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    project = ChangingProject(tmp_path)
    project.write(FIRST)
    record_release(table, project.ledger)
    write_users(table, project.ledger, [ADA] * 30)
    root = project.write(SECOND)
    record_release(table, project.ledger)
    write_users(table, project.ledger, [ADA] * 5)  # they are of the second version now
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, Any]]:
    """The inputs of the executions that the command starts."""
    inputs: list[Mapping[str, Any]] = []

    class Machine:
        def __init__(self, arn: str, endpoint: str | None, region: str | None) -> None:
            assert arn == "arn:aws:states:::jobs"

        def start(self, name: str, given: Mapping[str, Any]) -> None:
            assert name.startswith(f"rebuild-{given['job']}-")
            inputs.append(given)

    monkeypatch.setattr(aws, "StateMachine", Machine)
    return inputs


@pytest.fixture
def run(changed: Path, dynamo: str, table_name: str) -> Run:
    stack = describe_stack(changed, table_name, dynamo)

    def call(*options: str, **given: Any) -> Result:
        return CliRunner().invoke(app, ["rebuild", "--stack", str(stack), *options], **given)

    return call


def read_job(table: Table) -> RebuildJob:
    job = find_job(table)
    assert job is not None
    return job


def test_a_rebuild_is_started_changed_paused_and_resumed(
    run: Run, table: Table, started: list[Any]
) -> None:
    assert "no rebuild is running" in run("--pause").output
    assert "there is no rebuild to resume" in run("--resume").output
    assert run("--no-wait", "--rate", "200").exit_code == 1
    first = read_job(table)
    assert (first.targets, first.rate, first.without) == ({"User": 2}, 200, False)
    assert run("--no-wait", "--rate", "900", "--without").exit_code == 1
    assert "User 2: running · pass 1 of at least 2" in run("--status").stdout
    changed = read_job(table)
    assert (changed.id, changed.rate, changed.without) == (first.id, 900, True)
    assert "User 2: paused" in run("--pause").stdout
    run("--no-wait", "--resume")
    resumed = read_job(table)
    assert (resumed.state, resumed.rate) == ("running", 900)
    assert [each["job"] for each in started] == [first.id, resumed.id]
    assert json.loads(run("--status", "--json").stdout)["state"] == "running"
