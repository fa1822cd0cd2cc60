"""The command `daicho take-over`: what it prepares, what it prints, and what it refuses."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from mypy_boto3_dynamodb import DynamoDBClient
from typer.testing import CliRunner, Result

from daicho.layout.base_item import build_base_item
from daicho.layout.request_records import KEPT_SECONDS
from daicho.layout.tenant_items import build_closed_mark_key
from daicho.recovery.take_over import UNDONE
from daicho.release.states import build_deployed_update, build_record_update, read_deployed
from daicho.restore.run_record import RESTORE_KEY, RestoreLease, RestoreRecord
from daicho.runtime.clock import utc_now
from daicho.storage import attributes, keys
from daicho.storage.attributes import ItemKey
from daicho.storage.protocols import apply_update, try_put
from daicho.storage.requests import to_key_image
from daicho.storage.table import Table
from daicho.stream.gap import read_gap
from daicho.tenants.deletion_job import find_deletion
from daicho.verify.job import VerifyJob
from daicho_cli import aws, recover, take_over, taken_over
from daicho_cli.main import app
from daicho_cli.recovery_table import RecoveryTable
from daicho_cli.terminal import CommandError
from tests.support.memory_stores import MemoryBucket
from tests.support.planned_project import record_release
from tests.support.sample_project import LEDGER, describe_stack

AT = dt.datetime(2026, 11, 21, 9, 30, tzinfo=dt.UTC)


class Story:
    """A stage with its table, and a copy of it that a client of AWS has restored."""

    def __init__(self, project: Path, endpoint: str, dynamodb: Any, table: Table) -> None:
        self.dynamodb, self.table, self.name = dynamodb, table, f"{table.name}-restored"
        self.project, self.endpoint = project, endpoint
        self.stack = self.describe_stack(table.name)
        self.inputs: list[dict[str, Any]] = []
        self.started: list[str] = []
        self.status = "UPDATE_COMPLETE"

    def describe_stack(self, table: str) -> Path:
        buckets = {"failures": "failed", "bucket": "archive"}
        return describe_stack(self.project, table, self.endpoint, **buckets)

    def start(self, name: str, _given: Any) -> None:
        self.started.append(name)

    def copy(self) -> Table:
        recovery = RecoveryTable(self.dynamodb, self.table.name)
        recovery.copy_items(self.name, self.table, lambda name: Table(self.dynamodb, name))
        return Table(self.dynamodb, self.name)

    def run(self, *options: str, name: str = "") -> Result:
        given = ["take-over", name or self.name, "--stack", str(self.stack), *options]
        return CliRunner().invoke(app, given, env={"COLUMNS": "200"})


@pytest.fixture
def story(
    project: Path,
    dynamo: str,
    dynamodb: DynamoDBClient,
    table: Table,
    monkeypatch: pytest.MonkeyPatch,
) -> Story:
    made = Story(project, dynamo, dynamodb, table)
    monkeypatch.setattr(aws.Stack, "machine", made)
    monkeypatch.setattr(taken_over, "list_inputs", lambda *_: made.inputs)
    monkeypatch.setattr(take_over, "describe_stack", lambda *_: {"StackStatus": made.status})
    monkeypatch.setattr(take_over, "open_bucket", lambda *_, **__: MemoryBucket())
    record_release(table, LEDGER)
    record_deployment(table)
    write_contacts(table, 3)
    return made


def write_contacts(table: Table, count: int) -> None:
    generation = LEDGER.newest_generation("Contact")
    table.batch_write(
        build_base_item(
            "acme", generation, attributes.to_image({"id": f"c{n}", "name": f"n{n}"}), utc_now()
        )
        for n in range(count)
    )


def record_deployment(table: Table) -> None:
    apply_update(table, build_record_update("1", frozenset(LEDGER.derived_types)))
    apply_update(table, build_deployed_update("1", utc_now()))


def put_request(table: Table, key: str, body: dict[str, Any] | None, at: dt.datetime) -> ItemKey:
    place = ItemKey(keys.render("acme", "~request", key), "-")
    values = {
        **{"request": "d", "subject": "s", "status": 200, "headers": {}},
        **{"ttl": int(at.timestamp()) + KEPT_SECONDS, "body": body and json.dumps(body)},
    }
    table.put({**to_key_image(place), **attributes.to_image(values)})
    return place


def test_a_table_is_prepared_and_the_next_steps_are_printed(story: Story) -> None:
    restored, at = story.copy(), utc_now()
    since = at.isoformat()
    plan = story.run("--at", since)
    assert plan.exit_code == 0, plan.output
    assert "take it over with --yes" in plan.stdout
    assert not read_gap(restored).is_open
    assert "StreamSpecification" not in story.dynamodb.describe_table(TableName=story.name)["Table"]
    done = story.run("--at", since, "--yes")
    assert done.exit_code == 0, done.output
    gap = read_gap(restored)
    assert gap.reasons == (f"the table was restored from a copy of {keys.render_instant(at)}",)
    described = story.dynamodb.describe_table(TableName=story.name)["Table"]
    assert f"--table-stream {described['LatestStreamArn']}" in done.stdout
    assert read_deployed(restored) is None
    record = RestoreRecord.from_image(restored.get(RESTORE_KEY) or {})
    assert (record.gap, record.state) == (gap.found_at, "succeeded")
    # It may be repeated: nothing more is repaired, and the gap is the same.
    again = json.loads(story.run("--at", since, "--yes", "--json").stdout)
    assert (again["repaired"], again["decisions"]) == ({}, [])
    assert read_gap(restored).found_at == gap.found_at


def test_requests_whose_effect_is_lost_have_no_record_any_more(story: Story) -> None:
    at = utc_now()
    old = at - dt.timedelta(minutes=5)
    shown = {"name": "n", "phone": "", "categories": []}
    kept = [
        put_request(story.table, "1", {**shown, "id": "c1", "version": 1}, at),
        put_request(story.table, "2", {**shown, "id": "gone", "version": 1}, old),
        put_request(story.table, "3", None, at),
        put_request(
            story.table, "6", {"id": "gone", "version": 1, **shown, "categories_names": {}}, at
        ),
    ]
    undone = [
        put_request(story.table, "4", {**shown, "id": "gone", "version": 1}, at),
        put_request(story.table, "5", {**shown, "id": "c1", "version": 2}, at),
    ]
    restored = story.copy()
    done = story.run("--at", at.isoformat(), "--yes")
    assert f"2 × {UNDONE}: repaired" in done.stdout, done.output
    assert all(restored.get(key) for key in kept)
    assert not any(restored.get(key) for key in undone)


def test_tenants_that_were_closed_since_are_closed_again(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    story.inputs = [
        {"tenant": "globex", "job": "2", "archive": "keep"},
        {"tenant": "globex", "job": "1", "archive": "forget"},
        {"tenant": "acme", "job": "restore-3"},
        {"tenant": "", "job": "rebuild"},
    ]
    restored, now = story.copy(), utc_now().isoformat()
    assert (
        "1 tenants were closed since, and are closed again: globex" in story.run("--at", now).stdout
    )
    assert restored.get(build_closed_mark_key("globex")) is None
    assert story.run("--at", now, "--yes").exit_code == 0
    assert restored.get(build_closed_mark_key("globex")) is not None
    assert restored.get(build_closed_mark_key("acme")) is None
    assert story.started == []
    # The stage has the table by now: the recovery starts the deletions, and ends with TTL on.
    story.describe_stack(story.name)
    monkeypatch.setattr(recover, "apply_records", mock.Mock())
    monkeypatch.setattr(aws.LambdaInvoker, "find", lambda *_: None)
    monkeypatch.setattr(recover, "StateMachine", mock.Mock())
    monkeypatch.setattr(recover, "start_verification", mock.Mock())

    def end_gap(table: Table, job: VerifyJob) -> VerifyJob:
        job.state = "succeeded"
        assert try_put(table, read_gap(table).end("", (), utc_now()).build_put())
        return job

    monkeypatch.setattr(recover, "watch_verification", end_gap)
    record_deployment(restored)
    call = ["recover", "--stack", str(story.stack), "--yes"]
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 0, result.output
    assert len(story.started) == 1
    job = find_deletion(restored, "globex", story.started[0].rpartition("-")[0])
    assert job is not None and job.archive == "forget"
    ttl = story.dynamodb.describe_time_to_live(TableName=story.name)["TimeToLiveDescription"]
    assert (ttl["TimeToLiveStatus"], ttl["AttributeName"]) == ("ENABLED", "ttl")
    assert "removes expired items again" in result.output


def test_what_cannot_be_taken_over_is_refused_and_unchanged(
    story: Story, dynamodb: DynamoDBClient
) -> None:
    now = utc_now().isoformat()

    def refuse(message: str, *options: str, name: str = "") -> None:
        result = story.run(*options, "--yes", name=name)
        assert (result.exit_code, message in result.output) == (2, True), result.output

    refuse("there is no table", "--at", now)
    refuse(f"has {story.table.name} already: daicho recover", "--at", now, name=story.table.name)
    restored = story.copy()
    refuse("DynamoDB knows no moment of", *())
    refuse("--at names a moment in the past", "--at", "2126-01-01T00:00:00Z")
    refuse("--at 'noon' is no day", "--at", "noon")
    story.status = "UPDATE_IN_PROGRESS"
    refuse("is being deployed (UPDATE_IN_PROGRESS)", "--at", now)
    story.status = "UPDATE_COMPLETE"
    lease = RestoreLease(restored, RestoreRecord(id="1", asked_by="ada", at=now), utc_now)
    lease.take()
    refuse("by ada works on the table", "--at", now)
    lease.end(0, has_failed=True)
    state = story.table.get(ItemKey("#backfill", "Contact")) or {}
    restored.put({**state, "SK": {"S": "Stranger"}})
    refuse("is of another project: it has Stranger", "--at", now)
    restored.delete(ItemKey("#backfill", "Stranger"))
    dynamodb.update_time_to_live(
        TableName=story.name, TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"}
    )
    refuse("disable its TTL until it is recovered", "--at", now)
    assert not read_gap(restored).is_open
    assert not read_gap(story.table).is_open


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"TableStatus": "CREATING"}, "is not complete yet"),
        ({"RestoreSummary": {"RestoreInProgress": True}}, "is not complete yet"),
        ({"GlobalSecondaryIndexes": [{"IndexName": "GSI1"}]}, "GSI1, GSI2, GSI3"),
        ({"RestoreSummary": {"RestoreDateTime": AT}}, "is of 2026-11-21T09:30:00Z"),
    ],
)
def test_a_table_that_dynamodb_has_not_restored_is_refused(
    change: dict[str, Any], message: str
) -> None:
    with pytest.raises(CommandError, match=message):
        describe_restored(**change).check_restored("restored", AT + dt.timedelta(minutes=1))


def test_the_moment_is_that_of_the_restore_if_nobody_names_it() -> None:
    summary = {"RestoreDateTime": AT, "RestoreInProgress": False}
    assert describe_restored(RestoreSummary=summary).check_restored("restored", None) == AT


def describe_restored(**change: Any) -> RecoveryTable:
    key = [
        {"AttributeName": name, "KeyType": kind} for name, kind in (("PK", "HASH"), ("SK", "RANGE"))
    ]
    indexes = [{"IndexName": f"GSI{n}", "IndexStatus": "ACTIVE"} for n in (1, 2, 3)]
    table = {"TableStatus": "ACTIVE", "KeySchema": key, "GlobalSecondaryIndexes": indexes}
    client = mock.Mock()
    client.describe_table.return_value = {"Table": {**table, **change}}
    client.describe_time_to_live.return_value = {"TimeToLiveDescription": {}}
    return RecoveryTable(client, "lost")
