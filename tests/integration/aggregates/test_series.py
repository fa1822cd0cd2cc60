"""Series and extremes, written and read through the book and the API: equal to plain loops."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterator
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
    day,
    explicit,
    field,
    hour,
    month,
    uid,
    week,
)
from daicho.declare.registry import Daicho
from daicho.errors import Invalid
from daicho.handlers import project, rollup
from daicho.plan import Ledger
from daicho.query.figures import series as limits_of_series
from daicho.storage.table import Table
from daicho.web.api import Api
from daicho.web.openapi.document import describe_api
from tests.support.api_client import Client
from tests.support.stream_pump import Consumer, Context, Pump, environment

ZONE = "Europe/Berlin"


class Sale(Entity):
    id: str = uid()
    shop: str = field()
    price: Decimal | None = field(default=None)
    at: dt.datetime = field()

    key = Key(id)
    by_shop = Aggregate((Count(), Min(price), Max(price)), shop)
    by_day = Aggregate(
        (
            Sum(price),
            Count(),
            Mean(price),
            Variance(price),
            Min(price),
            Max(price),
            Percentiles(price, explicit(0, 50)),
        ),
        shop,
        series=day(at, ZONE),
    )
    by_hour = Aggregate(Count(), shop, series=hour(at, "Australia/Lord_Howe"))
    by_week = Aggregate(Count(), shop, series=week(at, ZONE, first_weekday="sunday"))
    by_month = Aggregate((Count(), Mean(price)), series=month(at, "America/New_York"))


DOMAIN = Domain("sales", Sale)
DOMAIN.mount("/shops/{shop}/days", Sale.by_day)
DOMAIN.mount("/shops/{shop}/sales", Sale.by_shop)
LEDGER = Daicho(DOMAIN).append_generations(Ledger())
FIRST = dt.datetime(2025, 9, 20, tzinfo=dt.UTC)


class Shop:
    """A table with the sales that were written to it, and a plain copy of them."""

    def __init__(self, book: Book, settle: Callable[[], None]) -> None:
        self.book, self.settle = book, settle
        self.sales: dict[str, tuple[str, Decimal | None, dt.datetime]] = {}

    def write(self, chance: random.Random, count: int) -> None:
        for _ in range(count):
            id = str(chance.randrange(120))
            if id in self.sales and chance.random() < 0.3:
                self.book.delete(Sale.key(id))
                del self.sales[id]
                continue
            price = None if chance.random() < 0.2 else Decimal(chance.randrange(-500, 9_900)) / 100
            at = FIRST + dt.timedelta(minutes=chance.randrange(60 * 24 * 75))
            shop = chance.choice("ab")
            self.book.put(Sale(id=id, shop=shop, price=price, at=at))
            self.sales[id] = (shop, price, at)
        self.settle()


@pytest.fixture
def shop(
    dynamo: str, dynamodb: DynamoDBClient, table_name: str, monkeypatch: Any
) -> Iterator[Shop]:
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamo)
    settings = environment(table_name)
    projector = project.build(settings, LEDGER)
    pump = Pump(dynamodb, dynamo, table_name, [Consumer(projector, ["Sale"])])
    roll_up = rollup.build(settings, LEDGER)

    def settle() -> None:
        pump.run()
        roll_up({}, Context())

    yield Shop(Book(Table(dynamodb, table_name), LEDGER, "acme"), settle)


@pytest.mark.parametrize(
    ("bounds", "step", "field_name"),
    [
        (("2025-11-01", "2025-10-01"), "day", "to"),
        (("2025-11-01", "2025-11-01"), "day", "to"),
        (("2025-11-01T09:00", "2025-11-03"), "day", "from"),
        (("2025-11-01", "2025-11-03T09:00+01:00"), "day", "to"),
        (("2025-11-01", "2025-11-03"), "hour", "step"),
        (("2025-11-01", "2025-11-03"), "decade", "step"),
        (("1990-01-01", "2025-11-03"), "day", "to"),
        (("1900-01-01", "2025-11-03"), None, "to"),
        (("2026-03-29T02:30", "2026-11-03"), "day", "from"),
        (("2026-03-01", "2026-10-25T02:30"), "day", "to"),
        (("0001-01-01", "2025-11-03"), "year", "from"),
        (("yesterday", "2025-11-03"), "day", "from"),
        (("2025-02-30", "2025-11-03"), "day", "from"),
    ],
)
def test_bad_ranges_name_the_parameter(
    shop: Shop, bounds: tuple[str, str], step: Any, field_name: str
) -> None:
    with pytest.raises(Invalid) as refused:
        shop.book.series(Sale.by_day("a"), *bounds, step=step)
    assert refused.value.field == field_name


@pytest.mark.parametrize(
    ("limit", "live", "field_name"),
    [
        ("MAX_EXTREMES", False, "to"),
        ("MAX_CHUNKS", False, "to"),
        ("MAX_BUCKETS", False, "to"),
        ("MAX_LIVE_CHUNKS", True, "live"),
    ],
)
def test_each_limit_of_a_request_names_the_parameter(
    shop: Shop, limit: str, live: bool, field_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.write(random.Random(12), 60)
    bounds = ("2025-09-01", "2025-12-01")
    assert shop.book.series(Sale.by_day("a"), *bounds, step="day", live=live).buckets
    monkeypatch.setattr(limits_of_series, limit, 2)
    with pytest.raises(Invalid, match="ask for a shorter") as refused:
        shop.book.series(Sale.by_day("a"), *bounds, step="day", live=live)
    assert refused.value.field == field_name


def test_the_api_answers_a_series(shop: Shop) -> None:
    at = dt.datetime(2025, 10, 25, 22, 30, tzinfo=dt.UTC)
    shop.book.put(Sale(id="1", shop="a", price=Decimal("12.50"), at=at))
    shop.settle()
    daicho = Daicho(DOMAIN)
    client = Client(Api(daicho, lambda access: shop.book), "acme")
    answer = client.good("GET", "/shops/a/days?from=2025-10-25&to=2025-10-27&step=day")
    assert (answer["zone"], answer["step"]) == (ZONE, "day")
    empty, sunday = answer["buckets"]
    assert (empty["count"], empty["figures"]["price"]["mean"]) == (0, None)
    assert (sunday["start"], sunday["end"]) == ("2025-10-25T22:00:00Z", "2025-10-26T23:00:00Z")
    assert (sunday["count"], sunday["total"]) == (1, "12.5")
    assert sunday["figures"]["price"]["min"] == "12.5"
    for query, name in (
        ("from=2025-10-25&to=2025-10-24", "to"),
        ("from=2025-10-25&to=2025-10-27&step=minute", "step"),
        ("from=2025-03-30T02:30&to=2025-10-27", "from"),
    ):
        refused = client("GET", f"/shops/a/days?{query}")
        assert 400 <= refused.status < 500
        assert refused.fields == {name}
    assert client("GET", "/shops/a/days?from=2025-10-25").status == 400
    operation = describe_api(daicho, LEDGER)["paths"]["/shops/{shop}/days"]["get"]
    (query,) = operation["x-daicho-queries"]
    assert (query["kind"], query["required"]) == ("series", ["from", "to"])
    assert query["series"] == {
        "unit": "day",
        "zone": ZONE,
        "first_weekday": 0,
        "steps": ["day", "week", "month", "quarter", "year"],
    }
