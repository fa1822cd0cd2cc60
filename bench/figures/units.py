"""The units of several figures of a group, of extremes and of series, beside those of a count."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Sequence
from decimal import Decimal
from functools import partial

from bench.figures.store import SalesStore
from daicho import Aggregate, Count, Domain, Entity, Key, Max, Mean, Min, Sum, day, field, uid
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from tests.support.judged_sales.sales import SaleRow

YEAR = (dt.datetime(2024, 12, 31, 23, tzinfo=dt.UTC), dt.datetime(2025, 12, 31, 23, tzinfo=dt.UTC))
"""2025 in Berlin."""
DAYS = 365


class Counted(Entity):
    """Sales that are counted only."""

    id: str = uid()
    shop: str = field()
    sold_at: dt.datetime = field()
    price: Decimal | None = field(default=None)
    pieces: int | None = field(default=None)

    key = Key(id)
    figures = Aggregate(Count(), shop)


class Measured(Entity):
    """Sales with a count, a sum and a mean."""

    id: str = uid()
    shop: str = field()
    sold_at: dt.datetime = field()
    price: Decimal | None = field(default=None)
    pieces: int | None = field(default=None)

    key = Key(id)
    figures = Aggregate((Count(), Sum(price), Mean(price)), shop)


class Ordered(Entity):
    """Sales with a count, the smallest and the largest price."""

    id: str = uid()
    shop: str = field()
    sold_at: dt.datetime = field()
    price: Decimal | None = field(default=None)
    pieces: int | None = field(default=None)

    key = Key(id)
    figures = Aggregate((Count(), Min(price), Max(price)), shop)


class Daily(Entity):
    """Sales with a series by day."""

    id: str = uid()
    shop: str = field()
    sold_at: dt.datetime = field()
    price: Decimal | None = field(default=None)
    pieces: int | None = field(default=None)

    key = Key(id)
    figures = Aggregate(
        (Count(), Sum(price), Mean(price)), shop, series=day(sold_at, zone="Europe/Berlin")
    )


class DailyOrdered(Entity):
    """Sales with a series by day of the smallest and the largest price."""

    id: str = uid()
    shop: str = field()
    sold_at: dt.datetime = field()
    price: Decimal | None = field(default=None)
    pieces: int | None = field(default=None)

    key = Key(id)
    figures = Aggregate(
        (Count(), Min(price), Max(price)), shop, series=day(sold_at, zone="Europe/Berlin")
    )


ENTITIES = (Counted, Measured, Ordered, Daily, DailyOrdered)
LEDGER = Daicho(Domain("units", *ENTITIES)).append_generations(Ledger())


def measure_writes(endpoint: str, entity: type[Entity], rows: Sequence[SaleRow]) -> float:
    """The write units of one inserted item, with all that follows from it."""
    store = SalesStore(endpoint, LEDGER)
    _, written = store.measure(lambda: list(store.load(entity, rows)))
    return written / len(rows)


def measure_reads(endpoint: str, rows: Sequence[SaleRow]) -> dict[str, float]:
    """The read units of one reading, by the name of the entity; of a series: of a year by day.

    With ``ms`` behind the name: the time of the request, on one table in this machine. With
    ``filled``: the days that have items.
    """
    store, units = SalesStore(endpoint, LEDGER), {}
    for entity in ENTITIES:
        list(store.load(entity, rows))
    for declared in (Counted, Measured, Ordered):
        query = declared.figures(rows[0].shop)
        store.book.read(query)  # what is cached afterwards: which instance answers, and as_of
        units[declared.__name__] = store.measure(partial(store.book.read, query))[0]
    for by_day in (Daily, DailyOrdered):
        series = by_day.figures(rows[0].shop)
        store.book.series(series, *YEAR, step="day")
        began = time.perf_counter()
        read = partial(store.book.series, series, *YEAR, step="day")
        units[by_day.__name__] = store.measure(read)[0]
        units[f"{by_day.__name__} ms"] = 1_000 * (time.perf_counter() - began)
        filled = sum(bucket.items > 0 for bucket in read().buckets)
        units[f"{by_day.__name__} filled"] = filled
    return units
