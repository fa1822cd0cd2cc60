"""Which stage the options name, and that one that was never deployed is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from daicho.storage.table import Table
from daicho_cli import aws as connection
from daicho_cli.aws import StackError, find_stage
from tests.support.sample_project import write_project
from tests.support.stack_file import LOCAL


class Account:
    """An account with the stack of one stage, and an empty table."""

    def __init__(self) -> None:
        self.regions: set[str | None] = set()
        self.tables = {"dev-table", "local-table"}
        self.outputs = [{"OutputKey": "TableName", "OutputValue": "dev-table"}]

    def client(self, _service: str, *, region_name: str | None = None, **_: Any) -> Any:
        self.regions.add(region_name)
        return self

    def open_table(self, name: str, *, region: str | None = None, **_: Any) -> Table:
        return Table(self.client("dynamodb", region_name=region), name)

    def describe_stacks(self, StackName: str) -> dict[str, Any]:
        if StackName != "Sample-dev":
            message = f"Stack with id {StackName} does not exist"
            raise ClientError(
                {"Error": {"Code": "ValidationError", "Message": message}}, "DescribeStacks"
            )
        return {"Stacks": [{"Outputs": self.outputs}]}

    def describe_table(self, TableName: str) -> dict[str, Any]:
        if TableName not in self.tables:
            raise ClientError({"Error": {"Code": "ResourceNotFoundException"}}, "DescribeTable")
        return {"Table": {"ItemCount": 3, "TableSizeBytes": 400}}

    def query(self, **_: Any) -> dict[str, Any]:
        return {"Items": [], "Count": 0}

    def scan(self, **_: Any) -> dict[str, Any]:
        return {"Items": [], "Count": 0}


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Account:
    monkeypatch.chdir(write_project(tmp_path))
    account = Account()
    monkeypatch.setattr(boto3, "client", account.client)
    monkeypatch.setattr(connection, "open_table", account.open_table)
    return account


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
    file.write_text(json.dumps(LOCAL))
    stage = find_stage(file)
    assert stage is not None
    assert (stage.table.name, stage.region) == ("local-table", "us-east-1")
