"""Series read through the book and the API: limits, ranges, answers. Their sums: judged sales."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from daicho import Aggregate, Count, Domain, Entity, Key, Max, Mean, Min, Sum, day, field, uid
from daicho.declare.registry import Daicho
from daicho.errors import Invalid
from daicho.plan import Ledger
from daicho.query.figures import series as limits_of_series
from daicho.testing import MemoryDeployment
from daicho.web.api import Api
from daicho.web.openapi.document import describe_api
from tests.support.api_client import Client

ZONE = "Europe/Berlin"


class Sale(Entity):
    id: str = uid()
    shop: str = field()
    price: Decimal | None = field(default=None)
    at: dt.datetime = field()

    key = Key(id)
    by_day = Aggregate(
        (Sum(price), Count(), Mean(price), Min(price), Max(price)), shop, series=day(at, ZONE)
    )


DOMAIN = Domain("sales", Sale)
DOMAIN.mount("/shops/{shop}/days", Sale.by_day)
DAICHO = Daicho(DOMAIN)
LEDGER = DAICHO.append_generations(Ledger())
FIRST = dt.datetime(2025, 9, 20, tzinfo=dt.UTC)
BAD_RANGES: tuple[tuple[tuple[str, str], Any, str], ...] = (
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
)
"""Bounds, a step, and the parameter that is refused."""


@pytest.fixture
def deployment() -> MemoryDeployment:
    """Sixty days with a sale."""
    deployment = MemoryDeployment(LEDGER)
    book = deployment.open_book()
    for number in range(60):
        at = FIRST + dt.timedelta(days=number)
        book.put(Sale(id=str(number), shop="a", price=Decimal(number), at=at))
    deployment.catch_up()
    return deployment


def test_bad_ranges_name_the_parameter(deployment: MemoryDeployment) -> None:
    for bounds, step, name in BAD_RANGES:
        with pytest.raises(Invalid) as refused:
            deployment.open_book().series(Sale.by_day("a"), *bounds, step=step)
        assert refused.value.field == name, bounds


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
    deployment: MemoryDeployment,
    limit: str,
    live: bool,
    field_name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    book, query = deployment.open_book(), Sale.by_day("a")
    bounds = ("2025-09-01", "2025-12-01")
    assert book.series(query, *bounds, step="day", live=live).buckets
    monkeypatch.setattr(limits_of_series, limit, 2)
    with pytest.raises(Invalid, match="ask for a shorter") as refused:
        book.series(query, *bounds, step="day", live=live)
    assert refused.value.field == field_name


def test_the_api_answers_a_series() -> None:
    at = dt.datetime(2025, 10, 25, 22, 30, tzinfo=dt.UTC)
    deployment = MemoryDeployment(LEDGER)
    deployment.open_book().put(Sale(id="1", shop="a", price=Decimal("12.50"), at=at))
    deployment.catch_up()
    client = Client(Api(DAICHO, lambda _access: deployment.open_book()), "acme")
    answer = client.good("GET", "/shops/a/days?from=2025-10-25&to=2025-10-27&step=day")
    assert (answer["zone"], answer["step"]) == (ZONE, "day")
    empty, sunday = answer["buckets"]
    assert (empty["count"], empty["figures"]["price"]["mean"]) == (0, None)
    assert (sunday["start"], sunday["end"]) == ("2025-10-25T22:00:00Z", "2025-10-26T23:00:00Z")
    assert (sunday["count"], Decimal(sunday["total"])) == (1, Decimal("12.5"))
    assert Decimal(sunday["figures"]["price"]["min"]) == Decimal("12.5")
    for query, name in (
        ("from=2025-10-25&to=2025-10-24", "to"),
        ("from=2025-10-25&to=2025-10-27&step=minute", "step"),
        ("from=2025-03-30T02:30&to=2025-10-27", "from"),
    ):
        refused = client("GET", f"/shops/a/days?{query}")
        assert 400 <= refused.status < 500
        assert refused.fields == {name}
    assert client("GET", "/shops/a/days?from=2025-10-25").status == 400
    operation = describe_api(DAICHO, LEDGER)["paths"]["/shops/{shop}/days"]["get"]
    (query,) = operation["x-daicho-queries"]
    assert (query["kind"], query["required"]) == ("series", ["from", "to"])
    assert query["series"] == {
        "unit": "day",
        "zone": ZONE,
        "first_weekday": 0,
        "steps": ["day", "week", "month", "quarter", "year"],
    }
