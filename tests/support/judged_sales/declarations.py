"""The sale as an entity, with every kind of figure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
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
    explicit,
    field,
    hour,
    linear,
    logarithmic,
    quarter,
    uid,
    week,
)
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from tests.support.judged_sales.judge import EDGES

TENANT = "acme"
BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"


class Sale(Entity):
    """A sale of a shop."""

    id: str = uid()
    shop: str = field()
    sold_at: dt.datetime = field()
    price: Decimal | None = field(default=None)
    pieces: int | None = field(default=None)

    key = Key(id)
    _price = (Sum(price), Mean(price), Variance(price), Min(price), Max(price))
    _pieces = (Sum(pieces), Mean(pieces), Variance(pieces), Min(pieces), Max(pieces))
    _all = (
        *(Count(), *_price, Percentiles(price, linear(0, 200, 10))),
        *(*_pieces, Percentiles(pieces, logarithmic(1, 1_000, 3))),
    )
    by_shop = Aggregate(_all, shop)
    hours_of_berlin = Aggregate(_all, series=hour(sold_at, zone=BERLIN))
    hours_of_new_york = Aggregate(_all, series=hour(sold_at, zone=NEW_YORK))
    hours_of_lord_howe = Aggregate(_all, series=hour(sold_at, zone=LORD_HOWE))
    days_of_berlin = Aggregate(_all, shop, series=day(sold_at, zone=BERLIN))
    days_of_new_york = Aggregate(_all, shop, series=day(sold_at, zone=NEW_YORK))
    days_of_lord_howe = Aggregate(_all, shop, series=day(sold_at, zone=LORD_HOWE))
