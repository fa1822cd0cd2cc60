"""Entities with every kind of figure, and series by every unit in zones whose clocks are set."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

from daicho import (
    Aggregate,
    Count,
    Domain,
    Entity,
    Expires,
    Key,
    Max,
    Mean,
    Min,
    Percentiles,
    Sum,
    Variance,
    band,
    day,
    each,
    explicit,
    field,
    hour,
    linear,
    month,
    one_of,
    quarter,
    week,
    year,
)
from daicho.declare.registry import Daicho
from daicho.plan import EntityPlan, Ledger
from daicho.testing.simulated_entities import ValueSource, simulate_ledger


class Sale(Entity):
    """All figures of two fields, and series by hour, day and week."""

    shop: str = field()
    id: str = field()
    tags: set[str] = field(default_factory=set)
    price: Decimal | None = field(default=None)
    pieces: int | None = field(default=None)
    at: dt.datetime = field()

    key = Key(shop, id)
    by_shop = Aggregate(
        (
            Count(),
            Sum(price),
            Mean(price),
            Variance(price),
            Min(price),
            Max(price),
            Percentiles(price, explicit(-1, 0, 2)),
            Variance(pieces),
            Percentiles(pieces, linear(0, 4, 2)),
        ),
        shop,
    )
    by_tag = Aggregate((Sum(price), Count(), Mean(pieces), Max(pieces)), each(tags), within=shop)
    by_band = Aggregate((Count(), Mean(pieces)), band(price, explicit(0, 2)), within=shop)
    chart = Aggregate((Sum(price), Mean(price), Min(price)), shop, ranked=True)
    by_hour = Aggregate(Count(), shop, series=hour(at, "Australia/Lord_Howe"))
    by_day = Aggregate(
        (Sum(price), Count(), Mean(price), Min(price), Max(price), Percentiles(price, explicit(0))),
        shop,
        series=day(at, "Europe/Berlin"),
    )
    by_week = Aggregate(
        (Count(), Variance(pieces)), series=week(at, "America/New_York", first_weekday="sunday")
    )


class Trade(Entity):
    """What expired stays counted: by month."""

    id: str = field()
    status: str = field()
    price: Decimal | None = field(default=None)
    at: dt.datetime = field()

    key = Key(id)
    by_status = Aggregate(
        (Count(), Mean(price), Percentiles(price, explicit(0, 2))), status, on_expiry="keep"
    )
    by_month = Aggregate(
        (Sum(price), Count(), Variance(price)),
        status,
        series=month(at, "Europe/Berlin"),
        on_expiry="keep",
    )
    expires = Expires(dt.timedelta(days=2), archive=True)


class Reading(Entity):
    """What expired is subtracted: by quarter and year."""

    id: str = field()
    status: str = field()
    price: Decimal | None = field(default=None)
    at: dt.datetime = field()

    key = Key(id)
    extremes = Aggregate(
        (Count(), Min(price), Max(price)),
        within=status,
        where=one_of(status, "ab", "b"),
        on_expiry="subtract",
    )
    by_quarter = Aggregate(
        (Count(), Mean(price), Max(price)), series=quarter(at), on_expiry="subtract"
    )
    by_year = Aggregate(
        (Sum(price), Variance(price)), status, series=year(at, "Asia/Tokyo"), on_expiry="subtract"
    )
    expires = Expires(dt.timedelta(days=2))


class Survey(Entity):
    """So many figures that one update cannot add to all days of a batch."""

    id: str = field()
    q0: Decimal = field()
    q1: Decimal = field()
    q2: Decimal = field()
    q3: Decimal = field()
    q4: Decimal = field()
    q5: Decimal = field()
    q6: Decimal = field()
    q7: Decimal = field()
    q8: Decimal = field()
    q9: Decimal = field()
    at: dt.datetime = field()

    key = Key(id)
    by_day = Aggregate(
        (
            Count(),
            *(Variance(answer) for answer in (q0, q1, q2, q3, q4, q5, q6, q7, q8, q9)),
            *(Percentiles(answer, explicit(0)) for answer in (q0, q1, q2, q3, q4)),
        ),
        series=day(at, "Europe/Berlin"),
    )


PRICES = (
    None,
    Decimal("0.1"),
    Decimal(-1),
    Decimal(2),
    Decimal("-9999.99999999"),
    Decimal("99999999.999999"),
)
ANSWERS = tuple(price for price in PRICES if price is not None)
PIECES = (None, 0, 2, 3, -1)
TIMES = (
    "2026-03-28T23:00:00.000000Z",  # the day of 23 hours in Berlin begins
    "2026-03-29T22:30:00.000000Z",  # after it
    "2026-04-04T14:30:00.000000Z",  # the clock of Lord Howe is set back by half an hour
    "2026-04-04T15:15:00.000000Z",
    "2026-10-25T00:30:00.000000Z",  # 02:30 in Berlin, for the first time
    "2026-10-25T01:30:00.000000Z",  # and for the second time
    "2026-11-01T04:59:59.999999Z",  # a day of New York ends
    "2026-12-31T23:30:00.000000Z",  # the next year in Berlin and Tokyo
)

SURVEYS = "123456789abc"
DAYS = tuple(f"2026-10-{day:02}T00:30:00.000000Z" for day in range(11, 29))


def draw_figure_values(plan: EntityPlan, source: ValueSource) -> dict[str, Any]:
    """Values whose figures differ: at the edges of buckets, equal ones, and none."""
    pick = source.pick
    if plan.name == "Survey":
        first = pick(range(len(ANSWERS)))
        answers = {f"q{n}": ANSWERS[(first + n) % len(ANSWERS)] for n in range(10)}
        return {"id": pick(SURVEYS), "at": pick(DAYS), **answers}
    if plan.name == "Sale":
        tags = pick((set(), {"r"}, {"r", "s"}))
        own = {"shop": pick(source.partitions), "tags": tags, "pieces": pick(PIECES)}
    else:
        own = {"status": pick(("ab", "b", "c"))}
    values = {**own, "id": pick(source.ids), "price": pick(PRICES), "at": pick(TIMES)}
    return {name: value for name, value in values.items() if value is not None}


LEDGER = Daicho(Domain("figures", Sale, Trade, Reading, Survey)).append_generations(Ledger())
_BY_TYPE = simulate_ledger(LEDGER)
ENTITIES = type(_BY_TYPE)(_BY_TYPE.ledgers, draw_figure_values, _BY_TYPE.first_generation)
