"""Where the commands find a stack: the local one's file, or the outputs of a stage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from daicho_cli.aws import Connection, Stack, StackError


class CloudFormation:
    def __init__(self, *outputs: tuple[str, str]) -> None:
        self.outputs = outputs

    def describe_stacks(self, StackName: str) -> dict[str, Any]:
        if StackName != "Daicho-dev":
            raise ClientError({"Error": {"Message": f"no {StackName}"}}, "DescribeStacks")
        told = [{"OutputKey": key, "OutputValue": value} for key, value in self.outputs]
        return {"Stacks": [{"Outputs": told}]}


@pytest.mark.parametrize("content", [None, "{", "{}", "[]", '{"endpoint": "x"}'])
def test_a_file_that_says_nothing_is_said(file: Path, content: str | None) -> None:
    if content is not None:
        file.write_text(content)
    with pytest.raises(StackError, match="make up"):
        Stack.find(None, file)
    with pytest.raises(StackError, match="make up"):
        Connection.find(None, None, file)


def test_a_stage_is_what_its_stack_puts_out(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    made = CloudFormation(("TableName", "dev-table"))
    monkeypatch.setattr(boto3, "client", lambda name, region_name: made)
    stack = Stack.find("dev", file)
    assert (stack["TableName"], stack.is_local, stack.endpoint) == ("dev-table", False, None)
    with pytest.raises(StackError, match="Daicho-dev says no ArchiveBucketName"):
        stack["ArchiveBucketName"]
    with pytest.raises(ClientError, match="no Daicho-prod"):
        Stack.find("prod", file)
