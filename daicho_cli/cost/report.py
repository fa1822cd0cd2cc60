"""What `daicho cost` prints: the bill by declaration and by item, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from daicho_cli.cost.bill import Bill
from daicho_cli.cost.estimate import STACK
from daicho_cli.cost.units import Units

UNITS_SERVICE = "DynamoDB"
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


def print_report(report: CostReport, console: Console | None = None) -> None:
    """Print both tables and a summary line."""
    out = console or Console()
    out.print(_build_declaration_table(report))
    out.print(_build_bill_table(report))
    prices = report.bill.prices
    out.print(
        f"{prices.region}, prices of {prices.published}, before any free tier; "
        f"of the sum, {format_dollars(report.idle.dollars)} without any traffic.",
        highlight=False,
    )


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
                "entity": line.entity,
                "declaration": line.declaration,
                "work": line.work,
                "count": line.count,
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
    ours = sum_declarations(report.bill)
    theirs = sum_declarations(report.other) if report.other is not None else {}
    last = ""
    for entity, declaration in sorted({*ours, *theirs}, key=_order):
        if entity != last and last:
            table.add_section()
        last = entity
        units = ours.get((entity, declaration), Units())
        dollars = report.bill.prices.price_units(units.read, units.write)
        cells = [f"{units.write:,.0f}", f"{units.read:,.0f}", format_dollars(dollars)]
        if report.other is not None:
            other = theirs.get((entity, declaration), Units())
            other_dollars = report.other.prices.price_units(other.read, other.write)
            cells += [format_dollars(other_dollars), _format_difference(other_dollars - dollars)]
        table.add_row(f"{entity} {declaration}", *cells)
    return table


def _build_bill_table(report: CostReport) -> Table:
    days = report.bill.days
    table = Table(title=f"Bill of {days:g} days: {report.title}", title_justify="left")
    table.add_column("item")
    for column in ("quantity", "unit", *_list_columns(report)):
        table.add_column(column, justify="left" if column == "unit" else "right")
    ours = _list_items(report.bill)
    theirs = _list_items(report.other) if report.other is not None else {}
    for name in dict.fromkeys((*ours, *theirs)):
        quantity, unit, dollars = ours.get(name, (0.0, theirs.get(name, (0, "", 0))[1], 0.0))
        cells = [_format_quantity(quantity), unit, format_dollars(dollars)]
        if report.other is not None:
            other_dollars = theirs.get(name, (0.0, "", 0.0))[2]
            cells += [format_dollars(other_dollars), _format_difference(other_dollars - dollars)]
        table.add_row(name, *cells)
    table.add_section()
    cells = ["", "", format_dollars(report.bill.dollars)]
    if report.other is not None:
        difference = report.other.dollars - report.bill.dollars
        cells += [format_dollars(report.other.dollars), _format_difference(difference)]
    table.add_row("sum", *cells)
    return table


def _list_columns(report: CostReport) -> tuple[str, ...]:
    """The columns of dollars: one, or one of each bill and the difference."""
    if report.other is None:
        return ("$",)
    return f"$: {report.title}", f"$: {report.other_title}", "difference"


def _list_items(bill: Bill) -> Mapping[str, tuple[float, str, float]]:
    """The lines of a bill, the units of all declarations summed up."""
    items: dict[str, tuple[float, str, float]] = {}
    for line in bill.lines:
        is_units = line.unit in {"write units", "read units"}
        name = f"{line.service}: {line.unit if is_units else line.name}"
        quantity, _, dollars = items.get(name, (0.0, "", 0.0))
        items[name] = (quantity + line.quantity, line.unit, dollars + line.dollars)
    return items


def _format_quantity(quantity: float) -> str:
    return f"{quantity:,.0f}" if quantity >= 100 or quantity == int(quantity) else f"{quantity:.3g}"


def _format_difference(dollars: float) -> str:
    if abs(dollars) < SMALLEST:
        return "0.00"
    return f"{dollars:+,.2f}"
