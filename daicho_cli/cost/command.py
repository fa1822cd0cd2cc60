"""``daicho cost``: the monthly bill, estimated from declarations and a traffic file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.runtime.bounds import DEFAULT_BOUNDS
from daicho_cli.aws import Connection
from daicho_cli.cost.bill import Bill, compute_bill, compute_idle_bill
from daicho_cli.cost.by_tenant import build_document as build_document_by_tenant
from daicho_cli.cost.by_tenant import print_period, read_period
from daicho_cli.cost.prices import DEFAULT_REGION, PRICE_FILE, Prices, load_prices
from daicho_cli.cost.report import CostReport, build_document, print_report, print_worst, render_svg
from daicho_cli.cost.traffic import Traffic, parse_traffic
from daicho_cli.cost.traffic_file import (
    build_default_traffic,
    complete_traffic,
    read_traffic,
    render_traffic_file,
    select_declared,
)
from daicho_cli.cost.worst import list_worst_requests
from daicho_cli.cost.writes import describe_entities
from daicho_cli.options import LOCAL, AsJson, StackFile, Stage
from daicho_cli.project import discover_project, load_ledger
from daicho_cli.terminal import OptionError, end_on_errors, print_json, print_message

DEFAULT_TITLE = "default traffic"
IDLE_TITLE = "no traffic"


def cost(  # noqa: PLR0913, PLR0917  # the command's options
    traffic: Annotated[
        Path | None,
        typer.Argument(help="The traffic file. Default: the traffic that --example writes."),
    ] = None,
    against: Annotated[
        Path | None, typer.Option(help="A second traffic file, whose bill is compared.")
    ] = None,
    against_ledger: Annotated[
        Path | None,
        typer.Option(help="A lock file of generations, whose declarations are compared."),
    ] = None,
    region: Annotated[
        str | None, typer.Option(help=f"The Region of the prices. Default: {DEFAULT_REGION}.")
    ] = None,
    prices: Annotated[
        Path | None, typer.Option(help="A price file. Default: the one of the package.")
    ] = None,
    as_json: AsJson = False,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw the bill into this SVG file.")
    ] = None,
    idle: Annotated[
        bool, typer.Option("--idle", help="The bill of a month without any traffic and data.")
    ] = False,
    worst: Annotated[
        bool,
        typer.Option("--worst", help="The most that one request to each route may take."),
    ] = False,
    example: Annotated[
        Path | None, typer.Option(help="Only write an example of a traffic file, to edit.")
    ] = None,
    by_tenant: Annotated[
        str | None,
        typer.Option(help="Print what tenants consumed in a day, 2026-11-30, or month, 2026-11."),
    ] = None,
    stage: Stage = None,
    stack: StackFile = LOCAL,
) -> None:
    """Estimate the monthly bill from the declarations and a description of the traffic.

    Nothing is measured and no AWS account is needed: units follow from example items, and prices
    from a dated file. Only --by-tenant reads what a stack has counted. Exit code 2: the command
    could not run.
    """
    if by_tenant is not None:
        _show_tenants(by_tenant, region, prices, stage, stack, as_json=as_json)
        return
    with end_on_errors("cost"):
        daicho = discover_project()
        ledger = daicho.append_generations(load_ledger())
        if example is not None:
            _write_example(example, daicho, ledger)
            return
        if worst:
            requests = list_worst_requests(daicho, DEFAULT_BOUNDS)
            lines = [vars(each) | {"cpu_ms": each.cpu_ms} for each in requests]
            print_json(lines) if as_json else print_worst(requests)
            return
        chosen = load_prices(region or DEFAULT_REGION, prices or PRICE_FILE)
        if idle:
            if traffic or against or against_ledger:
                raise OptionError("--idle has no traffic: give no file and no comparison")
            bill = compute_idle_bill(ledger, chosen)
            report = CostReport(bill, bill, IDLE_TITLE)
        else:
            report = _build_report(daicho, ledger, chosen, traffic, against, against_ledger)
        if plot is not None:
            plot.write_text(render_svg(report), encoding="utf-8")
    if as_json:
        print_json(build_document(report))
    else:
        print_report(report)
    if plot is not None:
        print_message(f"drawn: {plot}")


def _show_tenants(
    period: str,
    region: str | None,
    prices: Path | None,
    stage: str | None,
    stack: Path,
    *,
    as_json: bool,
) -> None:
    with end_on_errors("cost"):
        connection = Connection.find(None, None, stack, stage=stage, region=region)
        chosen = load_prices(connection.region or DEFAULT_REGION, prices or PRICE_FILE)
        entries = read_period(connection.open(parallelism=1), period)
    if as_json:
        print_json(build_document_by_tenant(period, entries, chosen))
    else:
        print_period(period, entries, chosen)


def _build_report(
    daicho: Daicho,
    ledger: Ledger,
    prices: Prices,
    file: Path | None,
    against: Path | None,
    against_ledger: Path | None,
) -> CostReport:
    traffic = _read_traffic(file, daicho, ledger)
    title = file.name if file is not None else DEFAULT_TITLE
    bill = _compute_bill(daicho, ledger, traffic, prices)
    idle = compute_idle_bill(ledger, prices, traffic.days)
    if against is None and against_ledger is None:
        return CostReport(bill, idle, title)
    other_traffic = traffic if against is None else _read_traffic(against, daicho, ledger)
    if other_traffic.days != traffic.days:
        periods = f"{title} is of {traffic.days:g} days, and {against} of {other_traffic.days:g}"
        raise OptionError(f"{periods}: compare the same period")
    other_ledger = ledger if against_ledger is None else Ledger.load(against_ledger)
    other_title = " with ".join(part.name for part in (against, against_ledger) if part is not None)
    declared = select_declared(other_traffic, other_ledger)
    other = _compute_bill(daicho, other_ledger, declared, prices)
    return CostReport(bill, idle, title, other, other_title)


def _compute_bill(daicho: Daicho, ledger: Ledger, traffic: Traffic, prices: Prices) -> Bill:
    declared = [entity for entity in daicho.entities if entity.__name__ in ledger.entities]
    return compute_bill(ledger, traffic, prices, describe_entities(declared, ledger))


def _read_traffic(file: Path | None, daicho: Daicho, ledger: Ledger) -> Traffic:
    if file is not None:
        return read_traffic(file, daicho.entities)
    return complete_traffic(parse_traffic(build_default_traffic(daicho, ledger)), daicho.entities)


def _write_example(file: Path, daicho: Daicho, ledger: Ledger) -> None:
    if file.exists():
        raise OptionError(f"{file} exists already")
    text = render_traffic_file(build_default_traffic(daicho, ledger), file.name)
    file.write_text(text, encoding="utf-8")
    print_message(f"written: {file}")
