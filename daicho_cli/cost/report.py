"""What `daicho cost` prints: the bill by declaration and by item, as a table and as JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from io import StringIO
from typing import Any

from rich.bar import Bar
from rich.console import Console
from rich.table import Table

from daicho_cli.cost.bill import Bill, BillLine
from daicho_cli.cost.estimate import STACK
from daicho_cli.cost.units import Units
from daicho_cli.cost.worst import WorstRequest

SMALLEST = 0.005
"""Smaller amounts are printed as "<0.01"."""


@dataclass(frozen=True)
class CostReport:
    """A bill, the bill of the same stack without traffic, and the bill it is compared with.

    ``title``: what the bill is of; ``other_title``: what it is compared with.
    """

    bill: Bill
    idle: Bill
    title: str
    other: Bill | None = None
    other_title: str = ""

    @property
    def bills(self) -> list[Bill]:
        """The bill, and the other one if there is one."""
        return [self.bill] if self.other is None else [self.bill, self.other]


def print_report(report: CostReport) -> None:
    """Print both tables and a summary line."""
    out = Console()
    out.print(_build_declaration_table(report))
    out.print(_build_bill_table(report))
    prices = report.bill.prices
    out.print(
        f"{prices.region}, prices of {prices.published}, before any free tier; "
        f"of the sum, {format_dollars(report.idle.dollars)} without any traffic.",
        highlight=False,
    )


def print_worst(requests: Sequence[WorstRequest]) -> None:
    """Print what one request to each route may take at most: a line for each."""
    out = partial(Console().print, highlight=False, markup=False, soft_wrap=True)
    names = ("reads", "writes", "requests", "derived", "body bytes", "CPU ms")
    out(f"{'route':<52}{''.join(f'{name:>11}' for name in names)}  bounded by")
    for each in requests:
        units = (each.read, each.written, each.requests, each.derived)
        figures = (*units, each.body_bytes, each.cpu_ms)
        cells = "".join(f"{figure:>11,}" for figure in figures)
        out(f"{f'{each.method} {each.path}{each.name}':<52}{cells}  {each.limit}")


def build_document(report: CostReport) -> dict[str, Any]:
    """The report as plain JSON values."""
    document = _describe_bill(report.bill) | {"idle_dollars": report.idle.dollars}
    document["traffic"] = report.title
    if report.other is not None:
        document["against"] = _describe_bill(report.other) | {"traffic": report.other_title}
        document["difference_dollars"] = report.other.dollars - report.bill.dollars
    return document


def sum_declarations(bill: Bill) -> dict[tuple[str, str], Units]:
    """The units of each declaration, by entity and name; those of the stack come last."""
    sums: dict[tuple[str, str], Units] = {}
    for line in bill.estimate.lines:
        key = (line.entity, line.declaration)
        sums[key] = sums.get(key, Units()) + line.units
    return dict(sorted(sums.items(), key=lambda entry: _order(entry[0])))


def _order(key: tuple[str, str]) -> tuple[bool, tuple[str, str]]:
    return key[0] == STACK, key


def format_dollars(dollars: float) -> str:
    """Dollars with cents."""
    return "<$0.01" if 0 < dollars < SMALLEST else f"${dollars:,.2f}"


def _describe_bill(bill: Bill) -> dict[str, Any]:
    prices = bill.prices
    return {
        "region": prices.region,
        "prices": {"published": str(prices.published), "source": prices.source},
        "days": bill.days,
        "dollars": bill.dollars,
        "services": bill.sum_by_service(),
        "declarations": [
            {
                **{name: value for name, value in vars(line).items() if name != "units"},
                "write_units": line.units.write,
                "read_units": line.units.read,
                "dollars": prices.price_units(line.units.read, line.units.write),
            }
            for line in bill.estimate.lines
        ],
        "items": [vars(line) for line in bill.lines],
    }


def _build_declaration_table(report: CostReport) -> Table:
    table = Table(title="Capacity units by declaration", title_justify="left")
    table.add_column("declaration", overflow="fold")
    for column in ("write units", "read units", *_list_columns(report)):
        table.add_column(column, justify="right")
    sums = [sum_declarations(bill) for bill in report.bills]
    last = ""
    for key in sorted({key for each in sums for key in each}, key=_order):
        if key[0] != last and last:
            table.add_section()
        last = key[0]
        units = [each.get(key, Units()) for each in sums]
        dollars = [report.bill.prices.price_units(each.read, each.write) for each in units]
        counts = f"{units[0].write:,.0f}", f"{units[0].read:,.0f}"
        table.add_row(" ".join(key), *counts, *_format_cells(dollars))
    return table


def _build_bill_table(report: CostReport) -> Table:
    days = report.bill.days
    table = Table(title=f"Bill of {days:g} days: {report.title}", title_justify="left")
    table.add_column("item")
    for column in ("quantity", "unit", *_list_columns(report)):
        table.add_column(column, justify="left" if column == "unit" else "right")
    items = [_sum_items(bill) for bill in report.bills]
    for name in dict.fromkeys(name for each in items for name in each):
        unit = next(each[name].unit for each in items if name in each)
        lines = [each.get(name, BillLine("", name, 0.0, unit, 0.0)) for each in items]
        cells = _format_cells([line.dollars for line in lines])
        table.add_row(name, _format_quantity(lines[0].quantity), unit, *cells)
    table.add_section()
    table.add_row("sum", "", "", *_format_cells([bill.dollars for bill in report.bills]))
    return table


def _list_columns(report: CostReport) -> tuple[str, ...]:
    """The columns of dollars: one, or one of each bill and the difference."""
    if report.other is None:
        return ("$",)
    return f"$: {report.title}", f"$: {report.other_title}", "difference"


def _format_cells(dollars: Sequence[float]) -> list[str]:
    """The dollars of each bill; and the difference of two."""
    cells = [format_dollars(each) for each in dollars]
    if len(dollars) > 1:
        difference = dollars[1] - dollars[0]
        cells.append("0.00" if abs(difference) < SMALLEST else f"{difference:+,.2f}")
    return cells


def _sum_items(bill: Bill) -> dict[str, BillLine]:
    """The lines of a bill by what is printed, the units of all declarations summed up."""
    sums: dict[str, BillLine] = {}
    for line in bill.lines:
        is_units = line.unit in {"write units", "read units"}
        name = f"{line.service}: {line.unit if is_units else line.name}"
        before = sums.get(name, replace(line, quantity=0.0, dollars=0.0))
        quantity, dollars = before.quantity + line.quantity, before.dollars + line.dollars
        sums[name] = replace(line, quantity=quantity, dollars=dollars)
    return sums


def _format_quantity(quantity: float) -> str:
    return f"{quantity:,.0f}" if quantity >= 100 or quantity == int(quantity) else f"{quantity:.3g}"


WIDTH, BAR_WIDTH = 120, 60
MOST_DECLARATIONS = 12


def render_svg(report: CostReport) -> str:
    """The bill as a picture in SVG: a bar for each service, and for the dearest declarations."""
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True)
    price = report.bill.prices.price_units
    services = [bill.sum_by_service() for bill in report.bills]
    declarations = [
        {" ".join(key): price(units.read, units.write) for key, units in sums.items()}
        for sums in map(sum_declarations, report.bills)
    ]
    console.print(_draw_bars("By service", services, report))
    console.print(_draw_bars("By declaration, the dearest", declarations, report))
    title = f"{format_dollars(report.bill.dollars)} in {report.bill.days:g} days: {report.title}"
    if report.other is not None:
        title += f"; {format_dollars(report.other.dollars)}: {report.other_title}"
    # Without the font that rich's style sheet fetches, and with a text for readers of the screen.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", console.export_svg(title=title), flags=re.DOTALL)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(title)}" ', 1)


def _draw_bars(title: str, sums: Sequence[Mapping[str, float]], report: CostReport) -> Table:
    """The largest sums, each with the bar of each bill."""
    table = Table(title=title, title_justify="left", show_header=report.other is not None)
    table.add_column(report.title)
    table.add_column(report.other_title)
    table.add_column("$", justify="right")
    most = {name: max(each.get(name, 0.0) for each in sums) for each in sums for name in each}
    longest = max(most.values(), default=0.0) or 1.0
    for name in sorted(most, key=lambda name: (-most[name], name))[:MOST_DECLARATIONS]:
        for label, dollars in zip((name, ""), (each.get(name, 0.0) for each in sums), strict=False):
            bar = Bar(longest, 0, dollars, width=BAR_WIDTH, color="blue" if label else "red")
            table.add_row(label, bar, format_dollars(dollars))
    return table
