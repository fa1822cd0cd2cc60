"""The bill of a period: units, storage, functions, requests and logs in dollars. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from daicho.plan import Generation, Ledger
from daicho.plan.events import list_receivers
from daicho.storage.attributes import measure_image
from daicho_cli.cost import examples, footprint
from daicho_cli.cost.estimate import STACK, Estimate, estimate_units
from daicho_cli.cost.prices import Prices
from daicho_cli.cost.traffic import MONTH_DAYS, EntityTraffic, Traffic
from daicho_cli.cost.units import Units, measure_stored, sum_units
from daicho_cli.cost.writes import EntityShape, list_row_images

GB = 1e9


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
) -> Bill:
    """The bill of a stack with these declarations and this traffic, before any free tier.

    Raises:
        TrafficError: see `estimate_units`.
    """
    estimate, receivers = estimate_units(ledger, traffic, shapes), list_receivers(ledger.events)
    lines = (
        *_list_units(estimate, prices),
        *_list_storage(ledger, traffic, prices),
        *_list_functions(traffic, estimate, prices),
        *_list_watching(traffic, estimate, prices),
        *(_list_event_lines(receivers, traffic, estimate, prices) if receivers else ()),
    )
    return Bill(tuple(line for line in lines if line.quantity), estimate, prices, traffic.days)


def compute_idle_bill(ledger: Ledger, prices: Prices, days: float = MONTH_DAYS) -> Bill:
    """The bill of a stack without requests and without data."""
    return compute_bill(ledger, Traffic(days=days), prices)


def _list_units(estimate: Estimate, prices: Prices) -> Iterator[BillLine]:
    sums: dict[str, Units] = {}
    for line in estimate.lines:
        name = line.declaration if line.entity == STACK else f"{line.entity}.{line.declaration}"
        sums[name] = sums.get(name, Units()) + line.units
    yield from (_bill_units(f"{n}: writes", Units(write=u.write), prices) for n, u in sums.items())
    yield from (_bill_units(f"{n}: reads", Units(read=u.read), prices) for n, u in sums.items())


def _bill_units(name: str, units: Units, prices: Prices) -> BillLine:
    """Units of one kind: either of the two is 0."""
    kind = "write units" if units.write else "read units"
    dollars = prices.price_units(units.read, units.write)
    return BillLine("DynamoDB", name, units.read + units.write, kind, dollars)


def _list_storage(ledger: Ledger, traffic: Traffic, prices: Prices) -> Iterator[BillLine]:
    months = traffic.days / MONTH_DAYS
    stored = objects = 0.0
    for name, entity in traffic.entities.items():
        generation = ledger.current_generation(name)
        stored += _measure_item(generation, entity) * entity.items
        objects += entity.object_bytes * entity.items
    table, kept = stored / GB, objects / GB
    uploads = sum(e.creates for e in traffic.entities.values() if e.object_bytes)
    recovery = table * prices.recovery_gb * months
    yield BillLine("DynamoDB", "storage", table, "GB", table * prices.table_gb * months)
    yield BillLine("DynamoDB", "point-in-time recovery", table, "GB", recovery)
    if traffic.backup_days:
        yield _bill_copies(table + kept, traffic.backup_days, prices, months)
    yield BillLine("S3", "objects of items", kept, "GB", kept * prices.s3_gb * months)
    dollars = uploads / 1e3 * prices.s3_put_thousand
    yield BillLine("S3", "uploads", uploads, "requests", dollars)


BACKUP_DAYS, TRANSFER_GB = 2, 0.02
"""Days that a backup is kept in the own Region; dollars of a GB that is sent to another one.

Source: "Data transfer" of the Amazon S3 and EC2 price lists, from us-east-1. A GB of a backup costs
half of what a GB of point-in-time recovery does, in all Regions of the price file.
"""


def _bill_copies(gigabytes: float, days: float, prices: Prices, months: float) -> BillLine:
    """A backup each day, and its copy in another Region (`daicho.cdk.backup`)."""
    stored = gigabytes * (BACKUP_DAYS + days) * prices.recovery_gb / 2
    sent = gigabytes * MONTH_DAYS * TRANSFER_GB
    name = "backups and copies in another Region"
    return BillLine("AWS Backup", name, gigabytes, "GB", (stored + sent) * months)


def _measure_item(generation: Generation, entity: EntityTraffic) -> float:
    """The stored bytes of one item, with its version and section items and its index rows."""
    plan, samples = generation.plan, entity.examples or ({},)
    total = 0
    for values in samples:
        image = examples.build_image(generation, values)
        stored = examples.build_stored_item(plan, image)
        total += measure_stored(stored)
        total += sum(measure_stored(row) for _, row in list_row_images(plan, stored))
        if plan.versions is not None:
            total += measure_stored(examples.build_version_item(plan, image))
        if plan.split is not None:
            total += sum(map(measure_image, examples.build_pieces(plan, image, values, epoch="")))
    return total / len(samples)


def _list_functions(traffic: Traffic, estimate: Estimate, prices: Prices) -> Iterator[BillLine]:
    load, requests, listings = estimate.load, estimate.requests, estimate.listings
    # Each batch of expired items is an object: there is one a window and shard at most.
    most = traffic.stream.shards * traffic.days * 86_400 / footprint.ARCHIVE_WINDOW_SECONDS
    archive = min(estimate.expired, most)
    runs = _list_runs(traffic, estimate, archive)
    for name, (count, milliseconds) in runs.items():
        gb_seconds = milliseconds / 1e3 * footprint.MEMORY_MB[name] / 1024
        dollars = count / 1e6 * prices.lambda_million + gb_seconds * prices.lambda_gb_second
        yield BillLine("Lambda", name, count, "invocations", dollars)
    yield BillLine("DynamoDB Streams", "reads by Lambda", load.records, "records", 0.0)
    idle = sum_units(units * runs[name][0] for name, units in footprint.IDLE_UNITS.items())
    yield _bill_units("sweep, audit and forget", Units(read=idle.read), prices)
    yield _bill_units("sweep, audit and forget", Units(write=idle.write), prices)
    dollars, put = requests / 1e6 * prices.http_million, prices.s3_put_thousand
    yield BillLine("API Gateway", "requests", requests, "requests", dollars)
    yield BillLine("S3", "archive", archive, "objects", archive / 1e3 * put)
    dollars = listings / 1e3 * put  # a listing has the price of a put
    yield BillLine("S3", "listings of the failure bucket", listings, "requests", dollars)
    yield _bill_units("archive", Units(write=archive * footprint.ARCHIVE_UNITS), prices)


def _list_runs(
    traffic: Traffic, estimate: Estimate, archive: float
) -> dict[str, tuple[float, float]]:
    """The invocations of each function, and the milliseconds of all of them."""
    assumptions, load = traffic.assumptions, estimate.load
    windows = traffic.stream.shards * traffic.days * 24 * 60 / footprint.WINDOW_MINUTES
    runs = {"api": (estimate.requests, estimate.requests * assumptions.api_ms)}
    for name, batches, records in (
        ("project", load.batches + windows, load.records),
        ("archive", archive + windows, estimate.expired),
    ):
        runs[name] = (batches, batches * assumptions.batch_ms + records * assumptions.record_ms)
    for name, minutes in footprint.SCHEDULED_MINUTES.items():
        count = traffic.days * 24 * 60 / minutes
        runs[name] = (count, count * assumptions.scheduled_ms)
    return runs


def _list_event_lines(
    receivers: Sequence[str], traffic: Traffic, estimate: Estimate, prices: Prices
) -> Iterator[BillLine]:
    """The ways of events. Each is assumed to be alone, in a quiet stack."""
    most = traffic.stream.shards * traffic.days * 86_400 / footprint.EVENT_WINDOW_SECONDS
    batches, milliseconds = min(estimate.publishing, most), traffic.assumptions.batch_ms
    runs = [("archive: events", batches, footprint.MEMORY_MB["archive"])]
    for receiver in receivers:
        events, months = estimate.published.get(receiver, 0.0), traffic.days / MONTH_DAYS
        requests = events * footprint.EVENT_REQUESTS + traffic.days * footprint.IDLE_POLLS_PER_DAY
        name, dollars = receiver or "events", requests / 1e6 * prices.fifo_million
        yield BillLine("SQS", name, requests, "requests", dollars)
        yield BillLine("CloudWatch", f"alarm of {name}", 1, "alarms", prices.alarm * months)
        if receiver:
            runs.append((f"on_{receiver}", events, footprint.SUBSCRIBE_MB))
        else:
            dollars = events / 1e6 * prices.event_million
            yield BillLine("EventBridge", name, events, "events", dollars)
            runs.append(("publish", events, footprint.PUBLISH_MB))
    for name, count, megabytes in runs:
        gb_seconds = count * milliseconds / 1e3 * megabytes / 1024
        dollars = count / 1e6 * prices.lambda_million + gb_seconds * prices.lambda_gb_second
        yield BillLine("Lambda", name, count, "invocations", dollars)


def _list_watching(traffic: Traffic, estimate: Estimate, prices: Prices) -> Iterator[BillLine]:
    months, load = traffic.days / MONTH_DAYS, estimate.load
    metrics = footprint.IDLE_METRICS + (footprint.BUSY_METRICS if load.records else 0)
    alarms = footprint.ALARMS
    yield BillLine("CloudWatch", "alarms", alarms, "alarms", alarms * prices.alarm * months)
    yield BillLine("CloudWatch", "metrics", metrics, "metrics", metrics * prices.metric * months)
    assumptions, minutes = traffic.assumptions, footprint.SCHEDULED_MINUTES
    scheduled = sum(traffic.days * 24 * 60 / each for each in minutes.values())
    logged = estimate.requests * assumptions.request_log_bytes
    logged += (scheduled + load.batches) * assumptions.run_log_bytes
    gigabytes = logged / GB
    dollars = gigabytes * (prices.logs_gb + prices.logs_kept_gb)
    yield BillLine("CloudWatch", "logs", gigabytes, "GB", dollars)
