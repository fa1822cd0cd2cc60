"""``daicho cost --by-tenant``: what the tenants of a stage consumed, with its price."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from daicho.storage.table import Table
from daicho.tenants.quota import Usage
from daicho.tenants.usage import list_days, list_usage
from daicho_cli.cost.prices import Prices
from daicho_cli.terminal import OptionError, build_table

SHOWN = 10
"""Tenants in the table; the rest is one more row."""
COLUMNS = ("tenant", "requests", "refused", "read units", "write units", "MB", "dollars")
REST = "all others"


def price_usage(usage: Usage, prices: Prices) -> float:
    """The dollars of units, requests of the HTTP API and invocations. Storage is not included."""
    calls = (usage.requests + usage.refused) / 1e6 * (prices.http_million + prices.lambda_million)
    return prices.price_units(usage.read_units, usage.write_units) + calls


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
        {"tenant": name, **usage._asdict(), "dollars": price_usage(usage, prices)}
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
        cells += [f"{usage.bytes / 1e6:,.1f}", f"{price_usage(usage, prices):,.4f}"]
        table.add_row(name, *cells)
    out.print(table)
    out.print(
        f"Prices of {prices.region} of {prices.published}. Write units contain an estimate of what "
        "derives from writes. Storage and the time of functions are not included.",
        highlight=False,
        soft_wrap=True,
    )
