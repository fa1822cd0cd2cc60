"""``daicho cost --by-tenant``: what the tenants of a stage consumed, with its price."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from daicho.storage.table import Table
from daicho.tenants.quota import Usage
from daicho.tenants.usage import UsagePrices, list_days, list_usage, price_usage
from daicho_cli.cost.prices import Prices
from daicho_cli.terminal import OptionError, build_table

SHOWN = 10
"""Tenants in the table; the rest is one more row."""
COLUMNS = ("tenant", "requests", "refused", "read units", "write units", "MB", "dollars")
REST = "all others"


def read_period(store: Table, period: str) -> list[tuple[str, Usage]]:
    """What each tenant consumed in a day or month, the highest consumption first.

    Raises:
        OptionError: it is neither.
    """
    try:
        days = list_days(period)
    except ValueError as error:
        raise OptionError(f"--by-tenant: {error}") from error
    return list_usage(store, days)


def build_document(
    period: str, entries: Sequence[tuple[str, Usage]], prices: Prices
) -> dict[str, Any]:
    """All tenants as plain JSON values."""
    tenants = [
        {"tenant": name, **usage._asdict(), "dollars": _price(usage, prices)}
        for name, usage in entries
    ]
    return {"period": period, "region": prices.region, "tenants": tenants}


def print_period(period: str, entries: Sequence[tuple[str, Usage]], prices: Prices) -> None:
    """Print the ten tenants that cost most, and the sum of the others."""
    out = Console()
    table = build_table(f"Tenants in {period}, UTC", COLUMNS)
    rest = [usage for _, usage in entries[SHOWN:]]
    rows = list(entries[:SHOWN])
    if rest:
        rows.append((REST, Usage(*map(sum, zip(*rest, strict=True)))))
    for name, usage in rows:
        counts = (usage.requests, usage.refused, usage.read_units, usage.write_units)
        cells = [f"{count:,.0f}" for count in counts]
        cells += [f"{usage.bytes / 1e6:,.1f}", f"{_price(usage, prices):,.4f}"]
        table.add_row(name, *cells)
    out.print(table)
    out.print(
        f"Prices of {prices.region} of {prices.published}. Write units contain an estimate of what "
        "derives from writes. Storage and the time of functions are not included.",
        highlight=False,
        soft_wrap=True,
    )


def _price(usage: Usage, prices: Prices) -> float:
    return price_usage(usage, UsagePrices(*(getattr(prices, name) for name in UsagePrices._fields)))
