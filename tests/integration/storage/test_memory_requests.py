"""The DynamoDB in memory and Dynoxide answer 5,000 random requests alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import boto3
import pytest
from botocore.config import Config
from mypy_boto3_dynamodb import DynamoDBClient

from tests.support.compared_tables import ComparedTables
from tests.support.dynoxide import REGION
from tests.support.dynoxide_differences import DIFFERENCES, find_explanation
from tests.support.random_requests import RequestGenerator
from tests.support.trials import IS_TRIAL, scaled

SEED = 53
REQUESTS = scaled(5_000, otherwise=2_000)
MIN_ACCEPTED = REQUESTS * 3 // 5


@pytest.fixture
def unchecked_client(dynamo: str) -> Iterator[DynamoDBClient]:
    """A client that sends what botocore would refuse: the server has to answer."""
    config = Config(retries={"total_max_attempts": 1}, parameter_validation=False)
    client = boto3.client("dynamodb", endpoint_url=dynamo, region_name=REGION, config=config)
    yield client
    client.close()


@pytest.mark.dynoxide("requests that DynamoDB refuses")
def test_random_requests_are_answered_alike(
    unchecked_client: DynamoDBClient, table_name: str
) -> None:
    tables, generator = ComparedTables(unchecked_client, table_name), RequestGenerator(SEED)
    unexplained: list[object] = []
    explained: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    for _ in range(REQUESTS):
        method, request = generator.draw_request()
        memory, real = tables.call(method, request)
        codes[memory.code] += 1
        if memory == real:
            continue
        difference = find_explanation(method, request, memory, real)
        if difference is None:
            unexplained.append((method, request, memory, real))
        else:
            explained[difference.reason] += 1
        tables.remove_items(request)
        generator.forget_token()
    assert not unexplained, (len(unexplained), unexplained[0])
    reasons = {difference.reason for difference in DIFFERENCES}
    assert explained.keys() == reasons if IS_TRIAL else explained.keys() <= reasons
    assert codes["OK"] + codes["ConditionalCheckFailedException"] >= MIN_ACCEPTED, codes
