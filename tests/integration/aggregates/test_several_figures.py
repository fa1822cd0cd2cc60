"""Several figures of a group in the rows of its ranking."""

from __future__ import annotations

from decimal import Decimal

import pytest

from daicho import Aggregate, Count, Domain, Entity, Key, Max, Mean, Min, Sum, field, uid
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.testing import MemoryDeployment
from daicho.web.api import Api
from tests.support.api_client import Client


class Sale(Entity):
    id: str = uid()
    shop: str = field()
    price: Decimal | None = field(default=None)

    key = Key(id)
    ranking = Aggregate((Count(), Mean(price), Min(price), Max(price)), shop, ranked=True)
    revenue = Aggregate((Sum(price), Count(), Max(price)), shop, ranked=True, shards=3)


@pytest.mark.parametrize("name", ["ranking", "revenue"])
def test_a_row_of_a_ranking_has_the_figures_of_its_group(name: str) -> None:
    domain, declared = Domain("sales", Sale), getattr(Sale, name)
    domain.resource("/sales/{id}", Sale, "POST")
    domain.mount("/ranking", declared.top)
    domain.mount("/ranking/{shop}", declared)
    daicho = Daicho(domain)
    deployment = MemoryDeployment(daicho.append_generations(Ledger()))
    client = Client(Api(daicho, lambda access: deployment.open_book("acme", access)), "acme")
    for shop in range(7):
        for price in range(shop + 1):
            body = {"shop": f"s{shop}", "price": f"{price * 3}.50" if price % 3 else "0"}
            client.good("POST", "/sales", body)
    client.good("POST", "/sales", {"shop": "empty", "price": None})
    deployment.catch_up()
    for live in ("true", "false"):
        rows = client.everything(f"/ranking?live={live}", limit=3)
        # A sum counts only the items that have a value.
        assert len(rows) == (8 if name == "ranking" else 7)
        for row in rows:
            one = client.good("GET", f"/ranking/{row['shop']}?live={live}")
            assert row == {key: value for key, value in one.items() if key in row}
            assert row["figures"] == one["figures"]
        highest = {row["figures"]["price"]["max"] is None for row in rows}
        assert highest == ({True, False} if name == "ranking" else {False})
