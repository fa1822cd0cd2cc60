"""Sales by country, with a series by day: what the browser test of figures declares."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

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
    day,
    explicit,
    field,
    uid,
    week,
)


class Sale(Entity):
    """Something that was sold."""

    id: str = uid()
    country: str = field()
    price: Decimal = field()
    sold: dt.datetime = field()

    key = Key(id)
    daily = Aggregate(
        (
            Sum(price),
            Count(),
            Mean(price),
            Min(price),
            Max(price),
            Percentiles(price, explicit(0, 100, 200)),
        ),
        country,
        series=day(sold, "Europe/Berlin"),
    )
    weekly = Aggregate(Count(), series=week(sold, first_weekday="sunday"))
    ranked = Aggregate((Count(), Percentiles(price, explicit(0, 100, 200))), country, ranked=True)


domain = Domain("sales", Sale)
domain.resource("/sales/{id}", Sale, "POST")
domain.mount("/countries/{country}/sales", Sale.daily)
domain.mount("/weeks", Sale.weekly)
domain.mount("/countries/{country}", Sale.ranked)
domain.mount("/countries", Sale.ranked.top)
