"""The deployment of the domains with rules."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from tests.support.deployment import Served, serving_on
from tests.support.ruled_project import DOMAIN_PACKAGE, LEDGER


@pytest.fixture(scope="module")
def served(dynamo: str, dynamodb: DynamoDBClient) -> Iterator[Served]:
    with serving_on(dynamo, dynamodb, DOMAIN_PACKAGE, LEDGER) as deployed:
        yield deployed
