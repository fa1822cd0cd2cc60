"""Ranges of numbers as groups, over the book and the API."""

from __future__ import annotations

import random
import re
from decimal import Decimal
from typing import Any

import pytest

from daicho import Aggregate, Count, Domain, Entity, Key, Sum, band, field, linear, uid
from daicho.declare.figures.measures import explicit
from daicho.declare.registry import Daicho
from daicho.errors import Invalid
from daicho.plan import Ledger
from daicho.plan.parts import list_range_labels
from daicho.query.access import Access
from daicho.testing import MemoryDeployment
from daicho.web.api import Api
from tests.support.api_client import Client


class Sale(Entity):
    id: str = uid()
    price: Decimal | None = field(default=None)
    pieces: int = field(default=1)

    key = Key(id)
    by_price = Aggregate(Count(), band(price, explicit("-0.5", 10, 100)))
    chart = Aggregate(Sum(price), band(pieces, linear(0, 20, 10)), ranked=True)


DOMAIN = Domain("sales", Sale)
DOMAIN.resource("/sales/{id}", Sale, "POST PATCH DELETE")
DOMAIN.mount("/prices/{price}", Sale.by_price)
DOMAIN.mount("/pieces", Sale.chart.top)
DAICHO = Daicho(DOMAIN)
LEDGER = DAICHO.append_generations(Ledger())
PRICES = ("..-0.5", "-0.5..10", "10..100", "100..")


@pytest.fixture
def deployment() -> MemoryDeployment:
    return MemoryDeployment(LEDGER)


@pytest.fixture
def client(deployment: MemoryDeployment) -> Client:
    def open_book(access: Access) -> Any:
        return deployment.open_book(access.tenant, access)

    return Client(Api(DAICHO, open_book), "acme")


def test_items_follow_their_numbers_from_range_to_range(
    deployment: MemoryDeployment, client: Client
) -> None:
    chance, prices = random.Random(3), dict[str, Decimal | None]()
    book = deployment.open_book("acme")
    for _ in range(120):
        id = str(chance.randrange(30))
        if id in prices and chance.random() < 0.2:
            book.delete(Sale.key(id))
            del prices[id]
            continue
        price = chance.choice((None, Decimal(chance.randrange(-3_000, 20_000)) / 100))
        prices[id] = chance.choice((price, Decimal("-0.5"), Decimal(10), Decimal(100)))
        book.put(Sale(id=id, price=prices[id], pieces=chance.randrange(-5, 30)))
    deployment.catch_up()
    bounds = (None, Decimal("-0.5"), Decimal(10), Decimal(100), None)
    known = [price for price in prices.values() if price is not None]
    for place, label in enumerate(PRICES):
        low, high = bounds[place], bounds[place + 1]
        count = sum(
            (low is None or low <= price) and (high is None or price < high) for price in known
        )
        assert client.figure(f"/prices/{label}?live=true") == {"price": label, "count": count}
        assert book.read(Sale.by_price(label), live=True).items == count
    assert book.read(Sale.by_price(Decimal("10.01")), live=True) == book.read(
        Sale.by_price("10..100"), live=True
    )
    shown = {row["pieces"] for row in client.good("GET", "/pieces")["items"]}
    assert shown <= {"..0", "0..10", "10..20", "20.."}
    assert len(shown) == 4


def test_another_range_is_refused_and_the_right_ones_are_named(
    deployment: MemoryDeployment, client: Client
) -> None:
    for label in ("10..99", "x", "NaN", "Infinity"):
        refused = client("GET", f"/prices/{label}")
        assert (refused.status, refused.fields) == (422, {"price"})
    with pytest.raises(Invalid, match=re.escape(f"write one of {', '.join(PRICES)}")):
        deployment.open_book("acme").read(Sale.by_price("0..1"))
    assert list_range_labels(("-0.5", "10", "100")) == PRICES


def test_a_lock_file_keeps_the_edges_and_another_edge_is_another_instance() -> None:
    plan = LEDGER.current_generation("Sale").plan
    assert type(plan).from_json(plan.to_json()) == plan

    def declare(*edges: int) -> Daicho:
        class Sale(Entity):
            id: str = uid()
            price: Decimal | None = field(default=None)

            key = Key(id)
            by_price = Aggregate(Count(), band(price, explicit(*edges)))

        return Daicho(Domain("sales", Sale))

    first = declare(0, 1).append_generations(Ledger())
    assert declare(0, 1).append_generations(first) == first
    second = declare(0, 2).append_generations(first)
    (aggregate,) = second.current_generation("Sale").plan.aggregates
    assert aggregate.since == 2
