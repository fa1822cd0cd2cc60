"""``make bench-figures``: every figure beside DuckDB's, and the units of figures and series.

50,000 sales of two years are stored, and then 5 % of them are changed or deleted. The projector
and the rollup derive the figures. DuckDB computes the same from the rows, in three time zones. So
it does with the sales of Chinook, if the file is there. The exit status is 1 if a figure misses
its threshold.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import sys
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from bench.figures.store import SalesStore
from bench.figures.units import DAYS, Counted, Measured, Ordered, measure_reads, measure_writes
from tests.support.dynoxide import serving
from tests.support.judged_sales.checks import FigureChecks
from tests.support.judged_sales.comparison import Comparison
from tests.support.judged_sales.declarations import LEDGER, SERIES, Sale
from tests.support.judged_sales.judge import Judge
from tests.support.judged_sales.sales import (
    SaleRow,
    apply_changes,
    draw_changes,
    draw_sales,
)

EVENTS, SEED, SHARE_CHANGED = 50_000, 20_261_124, 0.05
UNIT_ROWS, MAX_SHOPS = 2_000, 6
MAX_UNITS_PER_100_BUCKETS, MAX_EXTREME_WRITES, MAX_EXTREME_READS = 2.0, 2.0, 1.0
CHINOOK = Path(
    os.environ.get("DAICHO_CHINOOK", Path(__file__).parents[3] / "shared/data/chinook.json")
)
Line = tuple[str, str, str, bool]
"""A figure, its value, its threshold, and whether it misses it."""
console = Console(width=110)


def compare_sales(
    endpoint: str, title: str, sales: Sequence[SaleRow], years: Sequence[int]
) -> Comparison:
    """Store sales, change some of them, and compare every figure with DuckDB's."""
    store = SalesStore(endpoint, LEDGER)
    deleted, edited = draw_changes(sales, SHARE_CHANGED, SEED)
    with Progress(console=console) as progress:
        loading = progress.add_task(f"{title}: load", total=len(sales))
        for stored in store.load(Sale, sales):
            progress.update(loading, completed=stored)
        store.change(Sale, deleted, edited)
        judge = Judge(apply_changes(sales, deleted, edited))
        shops = sorted({sale.shop for sale in sales})
        checks = FigureChecks(store.book, judge, years, shops[:MAX_SHOPS])
        comparing = progress.add_task(f"{title}: compare", total=len(SERIES) + 1)
        checks.compare_scores()
        progress.advance(comparing)
        for zone in SERIES:
            checks.compare_zone(zone)
            progress.advance(comparing)
    return checks.comparison


def read_chinook() -> list[SaleRow]:
    """The sales of Chinook: the country is the shop."""
    data = json.loads(CHINOOK.read_text("utf-8"))
    invoices = {row["InvoiceId"]: row for row in data["Invoice"]}
    rows = []
    for line in data["InvoiceLine"]:
        invoice = invoices[line["InvoiceId"]]
        at = dt.datetime.fromisoformat(f"{invoice['InvoiceDate']}+00:00")
        price = Decimal(str(line["UnitPrice"]))
        id, shop = str(line["InvoiceLineId"]), invoice["BillingCountry"]
        rows.append(SaleRow(id, shop, at, price, int(line["Quantity"])))
    return rows


def list_differences(title: str, comparison: Comparison) -> Iterator[Line]:
    """A line for each kind of figure."""
    for kind, compared, different in sorted(comparison.list_kinds()):
        yield f"{title}: {kind}, {compared:,} compared", f"{different} differ", "0", different > 0


def list_units(endpoint: str, rows: Sequence[SaleRow]) -> Iterator[Line]:
    """The units of figures beside those of a count, and those of a series."""
    writes = {
        entity.__name__: measure_writes(endpoint, entity, rows)
        for entity in (Counted, Measured, Ordered)
    }
    reads = measure_reads(endpoint, rows)
    for what, units in (("write units of an item", writes), ("read units of a group", reads)):
        of_count, of_all = units["Counted"], units["Measured"]
        yield f"{what}: count alone", f"{of_count:.3f}", "", False
        name = f"{what}: count, sum and mean"
        yield name, f"{of_all:.3f}", f"{of_count:.3f}", of_all > of_count
    extremes = writes["Ordered"] - writes["Counted"]
    is_missed = extremes > MAX_EXTREME_WRITES
    yield "write units more: Min and Max", f"{extremes:.3f}", f"{MAX_EXTREME_WRITES}", is_missed
    extremes = reads["Ordered"] - reads["Counted"]
    is_missed = extremes > MAX_EXTREME_READS
    yield "read units more: Min and Max", f"{extremes:.3f}", f"{MAX_EXTREME_READS}", is_missed
    series = reads["Daily"] / DAYS * 100
    is_missed = series > MAX_UNITS_PER_100_BUCKETS
    name = f"read units of 100 buckets: a year by day ({reads['Daily']:g} in all)"
    yield name, f"{series:.2f}", f"{MAX_UNITS_PER_100_BUCKETS}", is_missed
    filled = int(reads["DailyOrdered filled"])
    extremes = (reads["DailyOrdered"] - reads["Daily"]) / filled
    name = f"read units more of a day: Min and Max, {filled} days with items in one request"
    yield name, f"{extremes:.2f}", f"{MAX_EXTREME_READS}", extremes > MAX_EXTREME_READS
    for entity in ("Daily", "DailyOrdered"):
        yield (
            f"ms of a year by day, on this machine: {entity}",
            f"{reads[f'{entity} ms']:.0f}",
            "",
            False,
        )


def main() -> int:
    """Compare, measure and print; 1 if a threshold is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    events = parser.parse_args().events
    lines: list[Line] = []
    examples: list[str] = []
    with serving() as endpoint:
        os.environ["AWS_ENDPOINT_URL"] = endpoint
        compared: list[tuple[str, list[SaleRow], tuple[int, ...]]]
        compared = [("events", draw_sales(events, SEED), (2024, 2025))]
        if CHINOOK.exists():
            chinook = read_chinook()
            years = sorted({row.sold_at.year for row in chinook})
            compared.append(("Chinook", chinook, tuple(range(years[0], years[-1] + 1))))
        for title, sales, years_of in compared:
            comparison = compare_sales(endpoint, title, sales, years_of)
            lines += list_differences(f"{title} ({len(sales):,} sales)", comparison)
            examples += comparison.examples
        lines += list_units(endpoint, draw_sales(UNIT_ROWS, SEED))
    table = Table(title="Figures", width=110)
    for heading in ("figure", "value", "threshold", ""):
        table.add_column(heading)
    for name, value, threshold, is_missed in lines:
        table.add_row(name, value, threshold, "MISSED" if is_missed else "")
    console.print(table)
    for example in examples:
        console.print(example)
    if not CHINOOK.exists():
        console.print(f"no Chinook at {CHINOOK}: set DAICHO_CHINOOK")
    return int(any(is_missed for *_, is_missed in lines) or not CHINOOK.exists())


if __name__ == "__main__":
    sys.exit(main())
