"""The bill of a period: units, storage, functions, requests and logs in dollars. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from daicho.layout import sections
from daicho.plan import Generation, Ledger
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.attributes import measure_image
from daicho.storage.item_key import get_key
from daicho_cli.cost import examples, footprint
from daicho_cli.cost.derived_writes import list_row_images
from daicho_cli.cost.estimate import STACK, Estimate, estimate_units
from daicho_cli.cost.events import EntityShape
from daicho_cli.cost.examples import build_stored_item, build_version_item, split_sections
from daicho_cli.cost.footprint import STACK as STACK_FOOTPRINT
from daicho_cli.cost.footprint import Footprint
from daicho_cli.cost.prices import Prices
from daicho_cli.cost.traffic import EntityTraffic, Traffic
from daicho_cli.cost.units import Units, measure_stored, sum_units

GB = 1e9
MONTH_DAYS = 30.0
"""The length of the month that prices for a month are divided by."""


@dataclass(frozen=True)
class BillLine:
    """One item of a bill. ``quantity`` is in ``unit``; ``service`` groups lines."""

    service: str
    name: str
    quantity: float
    unit: str
    dollars: float


@dataclass(frozen=True)
class Bill:
    """A bill, and what it was computed from."""

    lines: tuple[BillLine, ...]
    estimate: Estimate
    prices: Prices
    days: float

    @cached_property
    def dollars(self) -> float:
        """The sum of all lines."""
        return sum(line.dollars for line in self.lines)

    def sum_by_service(self) -> dict[str, float]:
        """Dollars by service, in the order of the lines."""
        sums: dict[str, float] = {}
        for line in self.lines:
            sums[line.service] = sums.get(line.service, 0.0) + line.dollars
        return sums


def compute_bill(
    ledger: Ledger,
    traffic: Traffic,
    prices: Prices,
    shapes: Mapping[str, EntityShape] | None = None,
    stack: Footprint = STACK_FOOTPRINT,
) -> Bill:
    """The bill of a stack with these declarations and this traffic, before any free tier.

    Raises:
        TrafficError: see `estimate_units`.
    """
    estimate = estimate_units(ledger, traffic, shapes)
    lines = (
        *_list_units(estimate, prices),
        *_list_storage(ledger, traffic, prices),
        *_list_functions(traffic, estimate, prices, stack),
        *_list_watching(traffic, estimate, prices, stack),
    )
    return Bill(tuple(line for line in lines if line.quantity), estimate, prices, traffic.days)


def compute_idle_bill(
    ledger: Ledger, prices: Prices, days: float = MONTH_DAYS, stack: Footprint = STACK_FOOTPRINT
) -> Bill:
    """The bill of a stack without requests and without data."""
    return compute_bill(ledger, Traffic(days=days), prices, stack=stack)


def _list_units(estimate: Estimate, prices: Prices) -> Iterator[BillLine]:
    sums: dict[str, Units] = {}
    for line in estimate.lines:
        name = line.declaration if line.entity == STACK else f"{line.entity}.{line.declaration}"
        sums[name] = sums.get(name, Units()) + line.units
    for kind in ("write", "read"):
        for name, units in sums.items():
            quantity = getattr(units, kind)
            dollars = prices.price_units(**{"read": 0.0, "write": 0.0, kind: quantity})
            yield BillLine("DynamoDB", f"{name}: {kind}s", quantity, f"{kind} units", dollars)


def _list_storage(ledger: Ledger, traffic: Traffic, prices: Prices) -> Iterator[BillLine]:
    months = traffic.days / MONTH_DAYS
    stored = objects = 0.0
    for name, entity in traffic.entities.items():
        generation = ledger.current_generation(name)
        stored += _measure_item(generation, entity) * entity.items
        objects += entity.object_bytes * entity.items
    table = stored / GB
    yield BillLine("DynamoDB", "storage", table, "GB", table * prices.table_gb * months)
    recovery = table * prices.recovery_gb * months
    yield BillLine("DynamoDB", "point-in-time recovery", table, "GB", recovery)
    kept = objects / GB
    yield BillLine("S3", "objects of items", kept, "GB", kept * prices.s3_gb * months)
    uploads = sum(e.creates for e in traffic.entities.values() if e.object_bytes)
    yield BillLine("S3", "uploads", uploads, "requests", uploads / 1e3 * prices.s3_put_thousand)


def _measure_item(generation: Generation, entity: EntityTraffic) -> float:
    """The stored bytes of one item, with its version and section items and its index rows."""
    plan, samples = generation.plan, entity.examples or ({},)
    total = 0
    for values in samples:
        image = examples.build_image(generation, values)
        stored = build_stored_item(plan, image)
        total += measure_stored(stored)
        total += sum(measure_stored(row) for _, row in list_row_images(plan, stored))
        if plan.versions is not None:
            total += measure_stored(build_version_item(plan, image))
        if plan.split is not None:
            partition = sections.render_sections_partition(get_key(image), plan.name)
            total += sum(
                measure_image(piece)
                for section in split_sections(plan, values)
                for piece in sections.build_piece_items(partition, "", section, "")
            )
    return total / len(samples)


def _list_functions(
    traffic: Traffic, estimate: Estimate, prices: Prices, stack: Footprint
) -> Iterator[BillLine]:
    assumptions, load = traffic.assumptions, estimate.load
    archive = _count_archive_batches(traffic, estimate)
    windows = traffic.stream.shards * traffic.days * 24 * 60 / footprint.WINDOW_MINUTES
    runs: dict[str, tuple[float, float]] = {
        "api": (estimate.requests, estimate.requests * assumptions.api_ms),
        "project": (
            load.batches + windows,
            (load.batches + windows) * assumptions.batch_ms + load.records * assumptions.record_ms,
        ),
        "archive": (
            archive + windows,
            (archive + windows) * assumptions.batch_ms + estimate.expired * assumptions.record_ms,
        ),
    }
    for scheduled in stack.scheduled:
        count = traffic.days * 24 * 60 / scheduled.minutes
        runs[scheduled.name] = (count, count * assumptions.scheduled_ms)
    for name, (count, milliseconds) in runs.items():
        gb_seconds = milliseconds / 1e3 * stack.memory_mb[name] / 1024
        dollars = count / 1e6 * prices.lambda_million + gb_seconds * prices.lambda_gb_second
        yield BillLine("Lambda", name, count, "invocations", dollars)
    yield BillLine("DynamoDB Streams", "reads by Lambda", load.records, "records", 0.0)
    idle = sum_units(
        footprint.IDLE_UNITS.get(scheduled.name, Units()) * runs[scheduled.name][0]
        for scheduled in stack.scheduled
    )
    for kind, quantity, dollars in (
        ("read", idle.read, prices.price_units(idle.read, 0.0)),
        ("write", idle.write, prices.price_units(0.0, idle.write)),
    ):
        yield BillLine("DynamoDB", "sweep, audit and forget", quantity, f"{kind} units", dollars)
    dollars = estimate.requests / 1e6 * prices.http_million
    yield BillLine("API Gateway", "requests", estimate.requests, "requests", dollars)
    yield BillLine("S3", "archive", archive, "objects", archive / 1e3 * prices.s3_put_thousand)
    listings = estimate.listings
    dollars = listings / 1e3 * prices.s3_put_thousand  # a listing has the price of a put
    yield BillLine("S3", "listings of the failure bucket", listings, "requests", dollars)
    written = archive * footprint.ARCHIVE_UNITS
    dollars = prices.price_units(0, written)
    yield BillLine("DynamoDB", "archive", written, "write units", dollars)


def _count_archive_batches(traffic: Traffic, estimate: Estimate) -> float:
    """Batches of expired items, each of which is an object: one a window and shard at most."""
    stream = traffic.stream
    most = stream.shards * traffic.days * 86_400 / footprint.ARCHIVE_WINDOW_SECONDS
    return min(estimate.expired, most)


def _list_watching(
    traffic: Traffic, estimate: Estimate, prices: Prices, stack: Footprint
) -> Iterator[BillLine]:
    months = traffic.days / MONTH_DAYS
    metrics = stack.metrics + (footprint.BUSY_METRICS if estimate.load.records else 0)
    for name, unit, count, price in (
        ("alarms", "alarms", stack.alarms, prices.alarm),
        ("metrics", "metrics", metrics, prices.metric),
        ("dashboard", "dashboards", stack.dashboards, prices.dashboard),
    ):
        yield BillLine("CloudWatch", name, count, unit, count * price * months)
    yield BillLine("KMS", "key", stack.keys, "keys", stack.keys * prices.key * months)
    assumptions, load = traffic.assumptions, estimate.load
    scheduled = sum(traffic.days * 24 * 60 / run.minutes for run in stack.scheduled)
    logged = estimate.requests * assumptions.request_log_bytes
    logged += (scheduled + load.batches) * assumptions.run_log_bytes
    gigabytes = logged / GB
    dollars = gigabytes * (prices.logs_gb + prices.logs_kept_gb)
    yield BillLine("CloudWatch", "logs", gigabytes, "GB", dollars)
