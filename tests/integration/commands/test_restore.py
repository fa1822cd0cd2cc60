"""The command `daicho restore`: a copy, what it prints and writes, and what it refuses."""

from __future__ import annotations

import datetime as dt
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from botocore.exceptions import ClientError
from mypy_boto3_dynamodb import DynamoDBClient
from typer.testing import CliRunner, Result

from daicho.operations.action_log import ActionLog
from daicho.release.states import build_deployed_update, build_record_update
from daicho.restore.run_record import RESTORE_KEY, RestoreLease, RestoreRecord
from daicho.runtime.clock import utc_now
from daicho.storage.attributes import ItemKey
from daicho.storage.protocols import apply_update
from daicho.storage.requests import Scan
from daicho.storage.table import Table
from daicho_cli import recovery_table
from daicho_cli.main import app
from daicho_cli.recovery_table import RecoveryTable
from daicho_cli.terminal import CommandError
from tests.support.planned_project import (
    ChangingProject,
    record_release,
    render_module,
    write_users,
)
from tests.support.sample_project import describe_stack

Run = Callable[..., Result]
AT = dt.datetime(2026, 11, 21, 9, 30, tzinfo=dt.UTC)


@pytest.fixture
def run(
    tmp_path: Path, table: Table, table_name: str, dynamo: str, monkeypatch: pytest.MonkeyPatch
) -> Run:
    monkeypatch.setattr(sys, "path", [*sys.path])
    project = ChangingProject(tmp_path)
    root = project.write(render_module("newest = Listing()"))
    record_release(table, project.ledger)
    apply_update(table, build_record_update("1", frozenset({"User"})))
    apply_update(table, build_deployed_update("1", utc_now()))
    write_users(table, project.ledger, [{"name": "Ada", "email": "a@b.c", "country": "uk"}] * 3)
    monkeypatch.chdir(root)
    stack = describe_stack(root, table_name, dynamo, bucket="archive", failures="failures")

    def call(*options: str) -> Result:
        given = ["restore", "--stack", str(stack), *options]
        return CliRunner().invoke(app, given, env={"COLUMNS": "200"})

    return call


def list_users(table: Table) -> list[Any]:
    items = table.scan(Scan(consistent=True)).items
    return [item for item in items if item.get("type") == {"S": "User"}]


def test_a_table_is_copied_changed_and_moved_back(run: Run, table: Table, table_name: str) -> None:
    copy = f"{table_name}-copy"
    assert f"{copy} has the" in run("--copy", copy).stdout
    assert "exists already" in run("--copy", copy).output
    now = utc_now().isoformat()
    first, second, _ = users = sorted(list_users(table), key=lambda item: item["PK"]["S"])
    table.put({**first, "name": {"S": "Eve"}, "version": {"N": "2"}})
    table.delete(ItemKey(second["PK"]["S"], second["SK"]["S"]))
    shown = run("--from-table", copy, "--to", now)
    assert shown.exit_code == 0
    assert "User: 1 to change; 1 to create" in shown.stdout
    assert "2 items differ: about 2 write units" in shown.stdout
    assert "nothing was written: --yes does it" in shown.output
    assert len(list_users(table)) == 2
    done = run("--from-table", copy, "--to", now, "--yes")
    assert "2 items written, 0 skipped" in done.stdout
    restored = sorted(list_users(table), key=lambda item: item["PK"]["S"])
    assert [item["name"] for item in restored] == [item["name"] for item in users]
    assert [int(item["version"]["N"]) > 1 for item in restored] == [True, True, False]
    (action,), _ = ActionLog(table, utc_now).list_page(None, 10)
    assert (action["action"], action["detail"]) == ("restore table", "2 items written, 0 skipped")
    again = run("--from-table", copy, "--to", now, "--yes", "--json")
    assert json.loads(again.stdout)["total"] == 0


def test_wrong_options_and_tables_are_refused(
    run: Run, table: Table, table_name: str, dynamodb: DynamoDBClient
) -> None:
    now = utc_now().isoformat()
    for options, message in (
        ((), "--to names the moment"),
        (("--to", "2126-01-01T00:00:00Z"), "--to names the moment"),
        (("--to", "yesterday"), "--to 'yesterday' is no day"),
        (("--to", now), "the local AWS has no point-in-time recovery"),
        (("--to", now, "--tenant", "A B"), "--tenant 'A B'"),
        (("--to", now, "--entity", "Usr", "--from-table", "x"), "no entity is called Usr"),
        (("--to", now, "--from-table", "nothing"), "there is no such table"),
        (("--to", now, "--from-table", table_name), "there is no such table next to"),
    ):
        result = run(*options)
        assert (result.exit_code, message in result.output) == (2, True), result.output
    other = f"{table_name}-other"
    run("--copy", other)
    dynamodb.delete_item(TableName=other, Key={"PK": {"S": "#backfill"}, "SK": {"S": "#"}})
    assert "is no copy of a table of this project" in run("--to", now, "--from-table", other).output
    dynamodb.put_item(
        TableName=other, Item={"PK": {"S": "#backfill"}, "SK": {"S": "#"}, "source": {"S": "1"}}
    )
    state = table.get(ItemKey("#backfill", "User")) or {}
    dynamodb.put_item(TableName=other, Item={**state, "SK": {"S": "Foreign"}})
    assert "is of another project" in run("--to", now, "--from-table", other).output


def test_a_restore_beside_another_or_a_deployment_is_refused(
    run: Run, table: Table, table_name: str
) -> None:
    copy, now = f"{table_name}-copy", utc_now().isoformat()
    run("--copy", copy)
    record = RestoreRecord(id="other", asked_by="ada", at=now)
    lease = RestoreLease(table, record, utc_now)
    lease.take()
    result = run("--from-table", copy, "--to", now, "--yes")
    assert (result.exit_code, "by ada works on the table" in result.output) == (2, True)
    lease.end(0)
    assert run("--from-table", copy, "--to", now, "--yes").exit_code == 0
    assert (table.get(RESTORE_KEY) or {})["state"] == {"S": "succeeded"}
    apply_update(table, build_record_update("2", frozenset({"User"})))
    result = run("--from-table", copy, "--to", now, "--yes")
    assert "a deployment is under way" in result.output


def describe(client: mock.Mock, *statuses: str | None) -> None:
    missing = ClientError({"Error": {"Code": "ResourceNotFoundException"}}, "DescribeTable")
    client.describe_table.side_effect = [
        missing if status is None else {"Table": {"TableStatus": status}} for status in statuses
    ]


def test_a_table_is_restored_beside_and_a_second_call_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recovery_table, "POLL_S", 0)
    client = mock.Mock()
    table, waits = RecoveryTable(client, "daicho-prod"), list[str]()
    describe(client, None, "CREATING", "ACTIVE")
    assert table.restore(AT, waits.append) == "daicho-prod-at-20261121T093000Z"
    asked = client.restore_table_to_point_in_time.call_args.kwargs
    assert (asked["SourceTableName"], asked["RestoreDateTime"]) == ("daicho-prod", AT)
    describe(client, "CREATING", "CREATING", "ACTIVE")
    table.restore(AT, waits.append)
    assert client.restore_table_to_point_in_time.call_count == 1
    assert len(waits) == 2
    describe(client, "CREATING", "ARCHIVED")
    with pytest.raises(CommandError, match="is ARCHIVED"):
        table.restore(AT, waits.append)


def test_an_account_without_room_for_the_copy_is_told() -> None:
    client = mock.Mock()
    describe(client, None)
    full = ClientError({"Error": {"Code": "LimitExceededException"}}, "RestoreTable")
    client.restore_table_to_point_in_time.side_effect = full
    with pytest.raises(CommandError, match="has no room for daicho-prod-at-20261121T093000Z"):
        RecoveryTable(client, "daicho-prod").restore(AT, lambda _: None)


@pytest.mark.parametrize(
    ("status", "first", "message"),
    [("DISABLED", 1, "has no point-in-time recovery"), ("ENABLED", 2, "can be restored to a")],
)
def test_a_moment_that_is_not_kept_is_refused(status: str, first: int, message: str) -> None:
    client = mock.Mock()
    days = [AT + dt.timedelta(days=first - 1), AT + dt.timedelta(days=9)]
    client.describe_continuous_backups.return_value = {
        "ContinuousBackupsDescription": {
            "PointInTimeRecoveryDescription": {
                "PointInTimeRecoveryStatus": status,
                "EarliestRestorableDateTime": days[0],
                "LatestRestorableDateTime": days[1],
            }
        }
    }
    with pytest.raises(CommandError, match=message):
        RecoveryTable(client, "daicho-prod").check_moment(AT)
