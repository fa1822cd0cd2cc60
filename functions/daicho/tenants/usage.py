"""What all tenants consumed in a period, for operators."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from operator import add
from typing import NamedTuple

from daicho.layout.tenant_items import build_usage_key, render_usage_list
from daicho.storage import keys
from daicho.storage.requests import Query
from daicho.storage.table import Table
from daicho.tenants.quota import Usage

DAY = "2026-11-30"
"""An example of a day."""
WRITE_PRICE = 5
"""The price of a write unit in that of a read unit (on-demand capacity in each Region)."""


class UsagePrices(NamedTuple):
    """The dollars of a million of each; by default in us-east-1."""

    read_million: float = 0.125
    write_million: float = 0.625
    http_million: float = 1.0
    lambda_million: float = 0.2


US_EAST_1 = UsagePrices()


def price_usage(usage: Usage, prices: UsagePrices = US_EAST_1) -> float:
    """The dollars of units, requests of the HTTP API and invocations. Storage is not included."""
    units = usage.read_units * prices.read_million + usage.write_units * prices.write_million
    calls = (usage.requests + usage.refused) * (prices.http_million + prices.lambda_million)
    return (units + calls) / 1e6


def list_days(period: str) -> list[str]:
    """The days of a period in UTC: ``2026-11-30`` or ``2026-11``.

    Raises:
        ValueError: it is neither a day nor a month.
    """
    try:
        first = dt.date.fromisoformat(period if len(period) == len(DAY) else f"{period}-01")
    except ValueError:
        first = dt.date.min
    if period == first.isoformat():
        return [period]
    if f"{period}-01" != first.isoformat():
        raise ValueError(f"{period!r} is neither a day ({DAY}) nor a month ({DAY[:7]})")
    days = (first + dt.timedelta(days=number) for number in range(31))
    return [day.isoformat() for day in days if day.month == first.month]


def list_usage(store: Table, days: Sequence[str]) -> list[tuple[str, Usage]]:
    """What each tenant consumed on these days, and its name; the highest consumption first.

    It takes a read unit for two tenants and days. What processes have not added yet is missing.
    """
    totals: dict[str, Usage] = {}
    for day in days:
        for names in _list_tenants(store, day):
            wanted = [build_usage_key(name, day) for name in names]
            records = store.batch_get(wanted).require_all()
            for key, record in records.items():
                name = keys.parse(key.pk)[-1]
                total, usage = totals.get(name, Usage()), Usage.from_image(record)
                totals[name] = Usage(*map(add, total, usage))
    return sorted(totals.items(), key=_weigh, reverse=True)


def _list_tenants(store: Table, day: str) -> Iterator[list[str]]:
    for page in store.query_pages(Query(render_usage_list(day), index="GSI2")):
        yield [item["GSI2SK"]["S"] for item in page.items]


def _weigh(entry: tuple[str, Usage]) -> tuple[float, int]:
    usage = entry[1]
    return usage.read_units + WRITE_PRICE * usage.write_units, usage.requests
