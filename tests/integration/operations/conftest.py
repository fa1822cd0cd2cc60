"""The stack that operators work on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws
from mypy_boto3_dynamodb import DynamoDBClient

from tests.support.api_client import Client
from tests.support.operator_stack import OperatorStack


@pytest.fixture
def objects() -> Iterator[Any]:
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1")
        for name in ("failures", "archive"):
            client.create_bucket(Bucket=name)
        yield client


@pytest.fixture
def stack(dynamodb: DynamoDBClient, table_name: str, objects: Any) -> OperatorStack:
    return OperatorStack(dynamodb, table_name, objects)


@pytest.fixture
def operator(stack: OperatorStack) -> Client:
    return stack.client()
