"""Several figures of a group, written and read through the book: equal to plain computations."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho import (
    Aggregate,
    Book,
    Count,
    Domain,
    Entity,
    Key,
    Max,
    Mean,
    Min,
    Percentiles,
    Sum,
    Variance,
    explicit,
    field,
    uid,
)
from daicho.declare.registry import Daicho
from daicho.handlers import project, rollup
from daicho.plan import Ledger
from daicho.storage.table import Table
from daicho.web.api import Api
from tests.support.api_client import Client
from tests.support.stream_pump import Consumer, Context, Pump, environment


class Sale(Entity):
    id: str = uid()
    shop: str = field()
    price: Decimal | None = field(default=None)

    key = Key(id)
    by_shop = Aggregate(
        (Count(), Mean(price), Variance(price), Percentiles(price, explicit(0, 10, 50, 90))), shop
    )
    ranking = Aggregate((Count(), Mean(price), Min(price), Max(price)), shop, ranked=True)
    revenue = Aggregate((Sum(price), Count(), Max(price)), shop, ranked=True, shards=3)


LEDGER = Daicho(Domain("sales", Sale)).append_generations(Ledger())


RANKINGS = ("ranking", "revenue")


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("name", RANKINGS)
def test_a_row_of_a_ranking_has_the_figures_of_its_group(
    dynamo: str,
    dynamodb: DynamoDBClient,
    table_name: str,
    monkeypatch: Any,
    name: str,
    live: bool,
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamo)
    domain = Domain("sales", Sale)
    domain.resource("/sales/{id}", Sale, "POST")
    declared = getattr(Sale, name)
    domain.mount("/ranking", declared.top)
    domain.mount("/ranking/{shop}", declared)
    table, settings = Table(dynamodb, table_name), environment(table_name)
    api = Api(Daicho(domain), lambda access: Book(table, LEDGER, access.tenant, access=access))
    client = Client(api, "acme")
    for shop in range(7):
        for price in range(shop + 1):
            body = {"shop": f"s{shop}", "price": f"{price * 3}.50" if price % 3 else "0"}
            client.good("POST", "/sales", body)
    client.good("POST", "/sales", {"shop": "empty", "price": None})
    Pump(dynamodb, dynamo, table_name, [Consumer(project.build(settings, LEDGER), ["Sale"])]).run()
    roll_up = rollup.build(settings, LEDGER)
    while roll_up({}, Context())["rolled"]:
        pass
    suffix = f"live={str(live).lower()}"
    rows, cursor = [], ""
    while True:
        page = client.good("GET", f"/ranking?limit=3&{suffix}{cursor}")
        rows += page["items"]
        if page["cursor"] is None:
            break
        cursor = f"&cursor={page['cursor']}"
    # A sum counts only the items that have a value.
    assert len(rows) == (8 if name == "ranking" else 7)
    for row in rows:
        one = client.good("GET", f"/ranking/{row['shop']}?{suffix}")
        assert row == {key: value for key, value in one.items() if key in row}
        assert row["figures"] == one["figures"]
    highest = {row["figures"]["price"]["max"] is None for row in rows}
    assert highest == ({True, False} if name == "ranking" else {False})
