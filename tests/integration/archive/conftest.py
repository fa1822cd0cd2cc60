"""The archive that the tests of this folder share."""

from __future__ import annotations

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from tests.support.archive_deployment import Deployed
from tests.support.memory_stores import MemoryObjects


@pytest.fixture
def deployed(dynamo: str, dynamodb: DynamoDBClient, table_name: str) -> Deployed:
    return Deployed(dynamo, dynamodb, table_name, MemoryObjects())
