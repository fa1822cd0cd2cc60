"""The deployment that a module's tests share, and what others begin with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho.storage.table import Table
from tests.support.api_client import Client
from tests.support.deployment import Served, serving_on
from tests.support.sample_entities import Shelf
from tests.support.versioned_entities import BOTH, Kept

LONGEST = ("test_deletion.py",)
"""Files that take most of the time: they come first, so that no worker ends with one of them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files."""
    items.sort(key=lambda item: item.path.name not in LONGEST)


@pytest.fixture(scope="module")
def served(dynamo: str, dynamodb: DynamoDBClient) -> Iterator[Served]:
    with serving_on(dynamo, dynamodb) as found:
        yield found


@pytest.fixture(scope="module")
def acme(served: Served) -> Client:
    return served.client("acme")


@pytest.fixture(scope="module")
def globex(served: Served) -> Client:
    return served.client("globex")


@pytest.fixture
def shelf(dynamodb: DynamoDBClient, table_name: str) -> Shelf:
    return Shelf(dynamodb, table_name)


@pytest.fixture
def table(dynamodb: DynamoDBClient, table_name: str) -> Table:
    return Table(dynamodb, table_name)


@pytest.fixture
def kept(dynamodb: DynamoDBClient, table_name: str) -> Kept:
    return Kept(dynamodb, table_name)


@pytest.fixture(params=BOTH, ids=["copy", "pointer"])
def entity(request: pytest.FixtureRequest) -> Any:
    """One whose versions are kept."""
    return request.param


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The items that pages have read in the table."""
    asked: list[Any] = []
    get = Table.batch_get

    def watched(self: Table, keys: Any, **options: Any) -> Any:
        asked.extend(keys := list(keys))
        return get(self, keys, **options)

    monkeypatch.setattr(Table, "batch_get", watched)
    return asked
