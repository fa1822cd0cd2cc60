"""The stack that operators work on."""

from __future__ import annotations

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from tests.support.api_client import Client
from tests.support.memory_stores import MemoryObjects
from tests.support.operator_stack import OperatorStack


@pytest.fixture
def stack(dynamodb: DynamoDBClient, table_name: str) -> OperatorStack:
    return OperatorStack(dynamodb, table_name, MemoryObjects())


@pytest.fixture
def operator(stack: OperatorStack) -> Client:
    return stack.client()
