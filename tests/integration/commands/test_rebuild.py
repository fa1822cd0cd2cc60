"""The command `daicho rebuild` on a table: what it would cost, and how it changes a job."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from daicho.jobs.lease import JobStore
from daicho.rebuild.job import RebuildJob
from daicho.rebuild.repair_job import RepairJob, find_repair
from daicho.rebuild.requests import find_job, request_rebuild
from daicho.runtime.clock import utc_now
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

    def start(name: str, given: Mapping[str, Any]) -> None:
        assert name.startswith(f"rebuild-{given['job']}-")
        inputs.append(given)

    machines = {"arn:aws:states:::jobs": SimpleNamespace(start=start)}
    monkeypatch.setattr(aws, "StateMachine", lambda arn, *_: machines[arn])
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
    unbegun = run("--status")
    assert (unbegun.exit_code, unbegun.stdout.splitlines()) == (
        1,
        ["no rebuild was started", "User 2: not begun: run daicho rebuild"],
    )
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


def join_lines(text: str) -> str:
    """The output without the breaks of its lines."""
    return " ".join(text.split())


def read_run(table: Table) -> RepairJob:
    job = find_repair(table)
    assert job is not None
    return job


def save(table: Table, job: RepairJob, **values: Any) -> None:
    for name, value in values.items():
        setattr(job, name, value)
    JobStore(table, utc_now).save(job)


def test_a_run_is_started_changed_paused_and_resumed(
    run: Run, table: Table, started: list[Mapping[str, Any]]
) -> None:
    assert "no rebuild is running" in run("--again", "--pause").output
    assert "there is no run to resume" in run("--again", "--resume").output
    assert run("--again", "--no-wait", "--rate", "200").exit_code == 1
    first = read_run(table)
    assert (first.targets, first.tenant, first.rate) == ({"User": 2}, "", 200)
    run("--again", "--no-wait", "--rate", "900")
    assert (read_run(table).id, read_run(table).rate) == (first.id, 900)
    status = run("--again", "--status").stdout
    assert "again User: running · touches · 0 items touched" in status
    assert "again User: paused" in run("--again", "--pause").stdout
    run("--again", "--no-wait")
    second = read_run(table)
    run("--again", "--no-wait", "--resume")
    third = read_run(table)
    assert len({first.id, second.id, third.id}) == 3
    assert first.run == second.run == third.run
    assert [each["job"] for each in started] == [
        f"repair-{each.id}" for each in (first, second, third)
    ]
    save(table, third, state="succeeded", left={"t#User#9 -": "KeyError: 'S'"})
    result = run("--again", "--status")
    assert result.exit_code == 0
    assert "complete · 0 items touched, 1 left out" in result.stdout
    assert "  t#User#9 -: KeyError: 'S'" in result.stdout
    assert json.loads(run("--again", "--status", "--json").stdout)["run"] == third.run
    run("--again", "--no-wait", "--tenant", "t")
    assert read_run(table).run != first.run


def test_one_run_at_a_time_and_none_beside_a_rebuild(
    run: Run, table: Table, started: list[Mapping[str, Any]]
) -> None:
    run("--again", "--no-wait", "--tenant", "t")
    result = run("--again", "--no-wait")
    assert result.exit_code == 2
    assert "another run is running, for User of tenant t" in join_lines(result.output)
    save(table, read_run(table), state="failed")
    assert run("--again", "--no-wait").exit_code == 1
    save(table, read_run(table), state="succeeded")
    request_rebuild(table, {"User": 2}, utc_now(), rate=1.0)
    result = run("--again", "--no-wait")
    assert result.exit_code == 2
    assert "a rebuild is running, and has priority" in join_lines(result.output)
    assert len(started) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--entity", "User"), "--entity and --tenant are options of --again"),
        (("--again", "--without"), "--without is no option of it"),
        (("--again", "--entity", "Usr"), "Usr is no entity that derives anything. These do: User"),
    ],
)
def test_options_without_a_meaning_change_nothing(
    run: Run, table: Table, options: tuple[str, ...], message: str
) -> None:
    result = run(*options, "--no-wait")
    assert result.exit_code == 2
    assert message in join_lines(result.output)
    assert find_repair(table) is None


def test_a_dry_run_prices_all_rows_of_all_items(run: Run, table: Table) -> None:
    result = run("--again", "--dry-run", "--scan", "--yes")
    assert result.exit_code == 0, result.output
    assert "User  again\n" in result.stdout
    text = join_lines(result.stdout)
    assert "rebuild of newest, search: 30 items: ~30 write units of touches, ~" in text
    assert "of aggregates" not in text
    assert "Nothing was written." in text
    assert find_repair(table) is None
    sampled = run("--again", "--dry-run", "--tenant", "nobody").stdout
    assert "0 items" in sampled
    document = json.loads(run("--again", "--dry-run", "--scan", "--yes", "--json").stdout)
    assert document["rebuilds"]["User"]["items"] == 30
