"""The sample domains' deployment: the project's own is served in the folder above."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from tests.support.deployment import Served, serving_on
from tests.support.described_routes import DescribedRoutes, parametrize_operations
from tests.support.sample_project import DOMAIN_PACKAGE, LEDGER


@pytest.fixture(scope="module")
def served(dynamo: str, dynamodb: DynamoDBClient) -> Iterator[Served]:
    with serving_on(dynamo, dynamodb, DOMAIN_PACKAGE, LEDGER) as deployed:
        yield deployed


@pytest.fixture(scope="module")
def routes(request: pytest.FixtureRequest) -> DescribedRoutes:
    """The routes that the module is about."""
    found: DescribedRoutes = request.module.ROUTES
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Call a test for each operation of its module's ``ROUTES``."""
    parametrize_operations(metafunc)
