"""Unique values over HTTP: the item that has a value."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from tests.support.api_client import Client
from tests.support.deployment import Served, serving_on
from tests.support.unique_accounts import DOMAIN_PACKAGE, LEDGER


@pytest.fixture(scope="module")
def served(dynamo: str, dynamodb: DynamoDBClient) -> Iterator[Served]:
    with serving_on(dynamo, dynamodb, DOMAIN_PACKAGE, LEDGER) as deployed:
        yield deployed


def test_the_item_that_has_a_value_is_a_list_of_one_or_none(acme: Client, globex: Client) -> None:
    made = acme.good("POST", "/accounts", {"email": "one@example.com", "handle": "one"})
    assert acme.good("GET", "/accounts?email=ONE@example.com") == {"items": [made], "cursor": None}
    assert acme.good("GET", "/accounts?org=acme&handle=one")["items"] == [made]
    assert acme.good("GET", "/accounts?org=other&handle=one")["items"] == []
    assert globex.good("GET", "/accounts?email=one@example.com")["items"] == []
    assert acme("GET", "/accounts?handle=one").status == 400
    assert acme("GET", "/accounts?email=one@example.com&cursor=x").status == 400


def test_a_value_in_the_path_is_one_item(acme: Client) -> None:
    made = acme.good("POST", "/articles", {"slug": "a b"})
    answer = acme("GET", "/articles/by-slug/a%20b")
    assert answer.json == made
    tag = answer.headers["ETag"]
    assert acme("GET", "/articles/by-slug/a%20b", if_none_match=tag).status == 304
    assert acme.good("GET", "/articles/by-slug/a%20b?fields=slug") == {"slug": "a b"}
    missing = acme("GET", "/articles/by-slug/none")
    assert missing.status == 404
    assert missing.json["detail"] == "no Article of slug none"
