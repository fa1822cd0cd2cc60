"""The option ``--scan`` of ``daicho plan``: its price, its confirmation, and its progress."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import typer
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from daicho.runtime.clock import utc_now
from daicho.runtime.rate_limit import RateLimiter
from daicho.storage import attributes
from daicho.storage.attributes import Image
from daicho.storage.capacity import READ_UNIT_BYTES
from daicho.storage.parallel_scan import ScanRound, ScanSegments
from daicho.storage.requests import ItemPage, Scan
from daicho.storage.table import Table
from daicho_cli.aws.table_size import TableSize
from daicho_cli.cost.prices import Prices
from daicho_cli.cost.report import format_dollars
from daicho_cli.plan.assessment import EntityChange
from daicho_cli.plan.item_reader import ItemsRead, scan_items
from daicho_cli.plan.limits import LimitCheck
from daicho_cli.plan.report import format_duration
from daicho_cli.terminal import create_progress_bar, print_message


@dataclass(frozen=True)
class ScanOptions:
    """``rate``: read units a second. ``confirmed``: whether the caller agreed to the price."""

    rate: float
    confirmed: bool = False


def estimate_scan_units(size: TableSize) -> float:
    """The read units of a scan, which is eventually consistent."""
    return size.bytes / READ_UNIT_BYTES / 2


def confirm_scan(size: TableSize, prices: Prices, options: ScanOptions) -> None:
    """Print the price of a scan, and ask whether to begin.

    Raises:
        typer.Abort: the caller does not agree.
    """
    units = estimate_scan_units(size)
    price = (
        f"~{units:,.0f} read units, ~{format_dollars(prices.price_units(units, 0))}, "
        f"{format_duration(units / options.rate)} at {options.rate:,.0f} units/s"
    )
    if not size.bytes:
        price = "the price is unknown, because DynamoDB has not measured the table yet"
    print_message(f"A scan of the whole table: {price}")
    if not options.confirmed:
        typer.confirm("Read the whole table?", abort=True, err=True)


def scan_entities(
    store: Table,
    changes: Sequence[EntityChange],
    options: ScanOptions,
    *,
    request: Scan | None = None,
) -> tuple[ItemsRead, dict[str, LimitCheck]]:
    """Read all items of the entities that change, and check the limits of each item.

    ``request``: the scan that returns the items; by default it returns all items of the entities.

    Raises:
        StoreError: the table does not answer.
    """
    by_entity = {change.entity: change for change in changes}
    now = int(utc_now().timestamp())
    checks = {entity: LimitCheck(now=now) for entity in by_entity}

    def check(image: Image) -> None:
        entity = attributes.get_text(image, "type")
        if entity in by_entity:
            change = by_entity[entity]
            checks[entity].add(change.plan, image, change.compute)

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[items]:,} items"),
        TextColumn("{task.fields[units]:,.0f} units"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with create_progress_bar(*columns) as bar:
        task = bar.add_task("scan", total=None, items=0, units=0.0)
        items, units = 0, 0.0

        def update_bar(scan_round: ScanRound[ItemPage], segments: ScanSegments) -> None:
            nonlocal items, units
            items, units = items + scan_round.scanned, units + scan_round.units
            done = segments.total - len(segments.starts)
            bar.update(task, total=segments.total, completed=done, items=items, units=units)

        read = scan_items(
            store,
            list(by_entity),
            random.Random(),  # noqa: S311  # it chooses a sample
            pace=RateLimiter(options.rate),
            on_image=check,
            on_round=update_bar,
            request=request,
        )
    return read, checks
