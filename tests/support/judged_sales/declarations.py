"""The sale as an entity, with every kind of figure, and series in three time zones."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

from daicho import (
    Aggregate,
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
    field,
    hour,
    linear,
    logarithmic,
    month,
    uid,
    week,
)
from daicho.declare.registry import Daicho
from daicho.plan import Ledger

BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"


def _declare_sums(field: Any) -> tuple[Any, ...]:
    return (Sum(field), Mean(field), Variance(field))


def _count_by_hour(price: Any, sold_at: Any, zone: str) -> Aggregate:
    figures = (Count(), *_declare_sums(price), Percentiles(price, linear(0, 200, 10)))
    return Aggregate(figures, series=hour(sold_at, zone=zone))


def _count_by_day(pieces: Any, shop: Any, sold_at: Any, zone: str) -> Aggregate:
    figures = (Count(), *_declare_sums(pieces), Min(pieces), Max(pieces))
    return Aggregate(figures, shop, series=day(sold_at, zone=zone))


class Sale(Entity):
    """A sale of a shop."""

    id: str = uid()
    shop: str = field()
    sold_at: dt.datetime = field()
    price: Decimal | None = field(default=None)
    pieces: int | None = field(default=None)

    key = Key(id)
    by_shop = Aggregate(
        (
            *(Count(), *_declare_sums(price), Min(price), Max(price)),
            *(Percentiles(price, linear(0, 200, 10)), *_declare_sums(pieces)),
            *(Min(pieces), Max(pieces), Percentiles(pieces, logarithmic(1, 1_000, 3))),
        ),
        shop,
    )
    hours_of_berlin = _count_by_hour(price, sold_at, BERLIN)
    hours_of_new_york = _count_by_hour(price, sold_at, NEW_YORK)
    hours_of_lord_howe = _count_by_hour(price, sold_at, LORD_HOWE)
    days_of_berlin = _count_by_day(pieces, shop, sold_at, BERLIN)
    days_of_new_york = _count_by_day(pieces, shop, sold_at, NEW_YORK)
    days_of_lord_howe = _count_by_day(pieces, shop, sold_at, LORD_HOWE)
    weeks_from_sunday = Aggregate(
        (Count(), *_declare_sums(price), Percentiles(price, linear(0, 200, 10))),
        shop,
        series=week(sold_at, zone=NEW_YORK, first_weekday="sunday"),
    )
    months = Aggregate(
        (Count(), *_declare_sums(price), Min(price), Max(price)),
        shop,
        series=month(sold_at, zone=LORD_HOWE),
    )


SERIES = {
    BERLIN: (Sale.hours_of_berlin, Sale.days_of_berlin),
    NEW_YORK: (Sale.hours_of_new_york, Sale.days_of_new_york),
    LORD_HOWE: (Sale.hours_of_lord_howe, Sale.days_of_lord_howe),
}
"""By zone: the series of all shops by hour, and that of each shop by day."""
DOMAIN = Domain("sales", Sale)
DOMAIN.mount("/shops/{shop}/sales", Sale.by_shop)
DOMAIN.mount("/hours", Sale.hours_of_berlin)
LEDGER = Daicho(DOMAIN).append_generations(Ledger())
