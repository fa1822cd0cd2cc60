"""The sample domains' deployment: the project's own is served in the folder above."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from tests.support.deployment import Served, serving_on
from tests.support.described_routes import parametrize_operations as pytest_generate_tests
from tests.support.described_routes import routes
from tests.support.sample_project import DOMAIN_PACKAGE, LEDGER

__all__ = ["pytest_generate_tests", "routes"]


@pytest.fixture(scope="module")
def served(dynamo: str, dynamodb: DynamoDBClient) -> Iterator[Served]:
    with serving_on(dynamo, dynamodb, DOMAIN_PACKAGE, LEDGER) as deployed:
        yield deployed
