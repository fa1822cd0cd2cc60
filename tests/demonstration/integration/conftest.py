"""The deployment of the demonstration that a module's tests share."""

from __future__ import annotations

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho.storage.table import Table
from tests.integration.conftest import acme, globex, served
from tests.support.described_routes import parametrize_operations as pytest_generate_tests
from tests.support.described_routes import routes

__all__ = ["acme", "globex", "pytest_generate_tests", "routes", "served"]


@pytest.fixture
def table(dynamodb: DynamoDBClient, table_name: str) -> Table:
    return Table(dynamodb, table_name)
