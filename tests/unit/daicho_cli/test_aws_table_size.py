"""The size of a table: what DynamoDB measured, nothing without a table, one error otherwise."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from daicho_cli.aws import Connection, StackError, TableSize, read_table_size


class DynamoDB:
    """A client that gives one answer, or fails."""

    def __init__(self, answer: dict[str, Any] | Exception) -> None:
        self.answer = answer
        self.given: dict[str, Any] = {}

    def client(self, _service: str, **given: Any) -> DynamoDB:
        self.given = given
        return self

    def describe_table(self, TableName: str) -> dict[str, Any]:
        assert TableName == "mine"
        if isinstance(self.answer, Exception):
            raise self.answer
        return {"Table": self.answer}


def read(
    monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any] | Exception
) -> tuple[TableSize | None, dict[str, Any]]:
    dynamodb = DynamoDB(answer)
    monkeypatch.setattr(boto3, "client", dynamodb.client)
    size = read_table_size(Connection("mine", "http://x", "eu-west-1"))
    return size, dynamodb.given


def fail(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "DescribeTable")


def test_a_table_that_does_not_exist_has_no_size(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(monkeypatch, fail("ResourceNotFoundException"))[0] is None


@pytest.mark.parametrize("error", [fail("AccessDeniedException"), NoCredentialsError()])
def test_any_other_error_names_the_table(
    monkeypatch: pytest.MonkeyPatch, error: ClientError | BotoCoreError
) -> None:
    with pytest.raises(StackError, match="table mine: "):
        read(monkeypatch, error)
