"""Which stack, table, endpoint and region the commands use, and how large a table is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, NoCredentialsError, NoRegionError

from daicho.storage import table
from daicho.storage.table import Table
from daicho_cli import aws as connection
from daicho_cli.aws import Connection, Stack, StackError, find_stage, read_table_size
from tests.support.sample_project import write_project


def build_error(code: str, message: str = "no") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, "Describe")


class Account:
    """An account with the stack of one stage, and an empty table. ``failure``: of each request."""

    def __init__(self) -> None:
        self.regions: set[str | None] = set()
        self.tables = {"dev-table", "local-table"}
        self.outputs = [{"OutputKey": "TableName", "OutputValue": "dev-table"}]
        self.failure: Exception | None = None

    def client(self, _service: str, *, region_name: str | None = None, **_: Any) -> Any:
        self.regions.add(region_name)
        return self

    def open_table(self, name: str, *, region: str | None = None, **_: Any) -> Table:
        return Table(self.client("dynamodb", region_name=region), name)

    def describe_stacks(self, StackName: str) -> dict[str, Any]:
        if self.failure:
            raise self.failure
        if StackName != "Sample-dev":
            raise build_error("ValidationError", f"Stack with id {StackName} does not exist")
        return {"Stacks": [{"Outputs": self.outputs}]}

    def describe_table(self, TableName: str) -> dict[str, Any]:
        if self.failure:
            raise self.failure
        if TableName not in self.tables:
            raise build_error("ResourceNotFoundException")
        return {"Table": {"ItemCount": 3, "TableSizeBytes": 400}}

    def query(self, **_: Any) -> dict[str, Any]:
        return {"Items": [], "Count": 0}

    scan = query


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Account:
    monkeypatch.chdir(write_project(tmp_path))
    account = Account()
    monkeypatch.setattr(boto3, "client", account.client)
    monkeypatch.setattr(connection, "open_table", account.open_table)
    return account


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The place of the file of the local stack, which does not exist."""
    return tmp_path / "stack.json"


def test_a_region_that_nobody_says_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_region(*_: Any, **__: Any) -> Any:
        raise NoRegionError

    monkeypatch.setattr(table, "open_client", no_region)
    with pytest.raises(StackError, match="region"):
        Connection("table").open(1)


def test_a_stage_is_the_table_of_its_stack(account: Account, file: Path) -> None:
    stage = find_stage(file, stage="dev", region="eu-west-1")
    assert stage is not None
    assert (stage.table.name, stage.size.items, stage.region) == ("dev-table", 3, "eu-west-1")
    assert stage.states.is_empty
    assert account.regions == {"eu-west-1"}


def test_a_stage_without_a_stack_or_a_table_was_never_deployed(
    account: Account, file: Path
) -> None:
    assert find_stage(file, stage="prod") is None
    assert find_stage(file, table="other-table") is None
    account.tables.clear()
    assert find_stage(file, stage="dev") is None


@pytest.mark.usefixtures("account")
def test_the_default_is_the_local_stack(file: Path) -> None:
    with pytest.raises(StackError, match="name a --stage"):
        find_stage(file)
    local = {"endpoint": "http://127.0.0.1:4566", "region": "us-east-1", "table": "local-table"}
    file.write_text(json.dumps(local))
    stage = find_stage(file)
    assert stage is not None
    assert (stage.table.name, stage.region) == ("local-table", "us-east-1")


@pytest.mark.parametrize("content", [None, "{", "{}", "[]", '{"endpoint": "x"}'])
def test_a_file_that_says_nothing_is_said(file: Path, content: str | None) -> None:
    if content is not None:
        file.write_text(content)
    with pytest.raises(StackError, match="make up"):
        Stack.find(None, file)
    with pytest.raises(StackError, match="make up"):
        Connection.find(None, None, file)


def test_a_stage_is_what_its_stack_puts_out(account: Account, file: Path) -> None:
    stack = Stack.find("dev", file)
    assert (stack["TableName"], stack.is_local, stack.endpoint) == ("dev-table", False, None)
    with pytest.raises(StackError, match="Sample-dev says no ArchiveBucketName"):
        stack["ArchiveBucketName"]
    account.failure = build_error("AccessDenied")
    with pytest.raises(ClientError, match="AccessDenied"):
        Stack.find("dev", file)


@pytest.mark.parametrize("error", [build_error("AccessDeniedException"), NoCredentialsError()])
def test_a_table_that_cannot_be_described_is_named(account: Account, error: Exception) -> None:
    assert read_table_size(Connection("mine", "http://x", "eu-west-1")) is None
    account.failure = error
    with pytest.raises(StackError, match="table mine: "):
        read_table_size(Connection("mine", "http://x", "eu-west-1"))
