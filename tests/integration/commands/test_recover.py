"""The command `daicho recover` on a table: what it refuses, prints, starts, and its exit codes."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from daicho.jobs.lease import JobStore
from daicho.layout.backfill_state import BACKFILL, RECORDED_KEY
from daicho.recovery.lost_expirations import LostExpirations
from daicho.recovery.phases import NO_GAP
from daicho.recovery.recovery import declare_gap, request_recovery
from daicho.release.states import build_deployed_update, build_record_update
from daicho.runtime.clock import utc_now
from daicho.storage import keys
from daicho.storage.protocols import apply_update, try_put
from daicho.storage.requests import to_key_image
from daicho.storage.table import Table
from daicho.stream.gap import read_gap
from daicho.verify.job import VerifyJob, find_verification, request_verification
from daicho_cli import aws, verify
from daicho_cli import recover as command
from daicho_cli.main import app
from daicho_cli.project import load_ledger
from daicho_cli.recovery_table import RecoveryTable
from tests.support.planned_project import record_release
from tests.support.sample_project import describe_stack

Run = Callable[..., Result]


class Calls:
    """What the command calls. ``ends``: whether the recovery ends the gap."""

    def __init__(self, table: Table) -> None:
        self.table, self.names, self.ends = table, list[str](), True

    def redrive(self, _call: Any) -> None:
        self.names.append("redrive")

    def start(self, name: str, given: Mapping[str, Any]) -> None:
        assert name == given["job"]
        self.names.append("start")
        job = find_verification(self.table)
        assert job is not None
        job.state, job.counts = "succeeded", {"damage": 2.0, "repaired": 2.0}
        JobStore(self.table, utc_now).save(job)
        if self.ends:
            assert try_put(self.table, read_gap(self.table).end("l", (), utc_now()).build_put())


@pytest.fixture
def calls(table: Table, monkeypatch: pytest.MonkeyPatch) -> Calls:
    made = Calls(table)
    monkeypatch.setattr(command, "StateMachine", lambda *_: made)
    monkeypatch.setattr(command, "apply_records", made.redrive)
    monkeypatch.setattr(aws.LambdaInvoker, "find", lambda *_: None)
    monkeypatch.setattr(verify, "WATCH_S", 0.0)
    return made


@pytest.fixture
def run(project: Path, dynamo: str, table_name: str) -> Run:
    stack = describe_stack(project, table_name, dynamo, bucket="archive", failures="failures")

    def call(*options: str) -> Result:
        given = [*options[:1], "--stack", str(stack), *options[1:]]
        return CliRunner().invoke(app, given, env={"COLUMNS": "200"})

    return call


def test_without_a_gap_it_says_so_and_changes_nothing(run: Run, calls: Calls, table: Table) -> None:
    for options in ((), ("--yes",)):
        result = run("recover", *options)
        assert (result.exit_code, NO_GAP in result.output) == (2, True)
    assert (calls.names, find_verification(table)) == ([], None)


def test_it_says_what_it_would_do_and_then_does_it(run: Run, calls: Calls, table: Table) -> None:
    declare_gap(table, "the bucket was emptied", utc_now())
    plan = run("recover")
    assert (plan.exit_code, calls.names) == (0, [])
    assert "the bucket was emptied\na recovery reads about 0 units, $0.00" in plan.stdout.replace(
        "  the", "the"
    )
    assert "the bucket was emptied" in run("status").stdout
    shown = json.loads(run("status", "--json").stdout)
    assert shown["gap"]["reasons"] == ["the bucket was emptied"]
    result = run("recover", "--yes")
    assert (result.exit_code, calls.names) == (0, ["redrive", "start"]), result.output
    assert "2 damage, 0 undecided, 2 repaired" in result.stdout
    assert json.loads(run("status", "--json").stdout)["gap"] is None


def test_a_gap_that_stays_is_told_by_the_exit_code(run: Run, calls: Calls, table: Table) -> None:
    calls.ends = False
    assert run("recover", "--because", "I know").exit_code == 0
    assert not read_gap(table).is_open
    result = run("recover", "--because", "I know", "--yes", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["gap"]["reasons"] == ["I know"]


def test_what_expired_meanwhile_is_archived_before_the_recovery(
    run: Run, calls: Calls, table: Table, dynamodb: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[LostExpirations] = []

    def archive(lost: LostExpirations) -> int:
        assert calls.names == ["redrive"]
        asked.append(lost)
        return 3

    monkeypatch.setattr(LostExpirations, "archive", archive)
    record_release(table, load_ledger())
    apply_update(table, build_record_update("1", frozenset()))
    apply_update(table, build_deployed_update("1", utc_now()))
    copy, at = f"{table.name}-copy", utc_now()
    RecoveryTable(dynamodb, table.name).copy_items(copy, table, lambda n: Table(dynamodb, n))
    gap = declare_gap(table, "lost", at + dt.timedelta(seconds=1))
    options = ("recover", "--yes", "--from-table", copy)
    for more, sentence in (
        (("--at", at.isoformat(), "--from-table", "no-such-table"), "there is no such table"),
        ((), "DynamoDB knows no moment"),
        (("--at", "2126-01-01T00:00:00Z"), "when the gap was over"),
    ):
        result = run(*options, *more)
        assert (result.exit_code, sentence in result.output) == (2, True), result.output
    assert asked == []
    calls.names.clear()
    result = run(*options, "--at", at.isoformat())
    assert "3 items that expired meanwhile are archived" in result.output, result.output
    assert (result.exit_code, calls.names) == (0, ["redrive", "start"])
    assert (asked[0].at, keys.render_instant(asked[0].until)) == (at, gap.found_at)


def test_a_recovery_that_is_under_way_is_watched(run: Run, calls: Calls, table: Table) -> None:
    declare_gap(table, "lost", utc_now())
    asked = VerifyJob("", keys.render_instant(utc_now()))
    job = request_recovery(table, asked, load_ledger())
    refused = run("recover", "--yes", "--from-table", "copy")
    assert (refused.exit_code, "name the copy after its end" in refused.output) == (2, True)
    result = run("recover", "--yes")
    assert (result.exit_code, calls.names) == (0, ["start"])
    assert f"verification {job.id}: repaired" in result.stdout


def test_a_verification_beside_it_and_a_deployment_are_refused(
    run: Run, calls: Calls, table: Table
) -> None:
    declare_gap(table, "lost", utc_now())
    table.put({**to_key_image(RECORDED_KEY), "source": {"S": "x"}})
    assert "a deployment is under way" in run("recover", "--yes").output
    table.delete(RECORDED_KEY)
    now = keys.render_instant(utc_now())
    request_verification(table, VerifyJob("", now), load_ledger())
    result = run("recover", "--yes")
    assert (result.exit_code, "is under way: wait for its end" in result.output) == (2, True)
    assert calls.names == []


def test_a_table_of_another_project_is_refused(run: Run, calls: Calls, table: Table) -> None:
    declare_gap(table, "lost", utc_now())
    state: dict[str, Any] = {"oldest": {"N": "1"}, "newest": {"N": "1"}, "plans": {"M": {}}}
    table.put({"PK": {"S": BACKFILL}, "SK": {"S": "Stranger"}, **state})
    result = run("recover", "--yes")
    assert (result.exit_code, calls.names) == (2, [])
    assert "is of another project: it has Stranger" in result.output
