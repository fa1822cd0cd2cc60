"""What a rebuild of the changed entities costs: from the items that were read."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil

from daicho.layout.marks import MAX_RUN_ID, REPAIR_MARK
from daicho.layout.reservations import build_reservations
from daicho.plan import EntityPlan, RetiringPlan
from daicho.plan.instances import Numbered
from daicho.rebuild.touches import ITEMS_PER_PAGE
from daicho.runtime.clock import utc_now
from daicho.storage.attributes import Image, measure_image
from daicho.storage.capacity import READ_UNIT_BYTES
from daicho.storage.requests import Scan
from daicho_cli.aws import DeployedStage, TableSize
from daicho_cli.cost import counting
from daicho_cli.cost.counting import SECONDS_A_DAY, StreamLoad
from daicho_cli.cost.examples import ItemEvent
from daicho_cli.cost.prices import DEFAULT_REGION, PriceError, Prices, load_prices
from daicho_cli.cost.traffic import FigureTraffic, StreamTraffic, Traffic
from daicho_cli.cost.units import Units, measure_write, sum_units
from daicho_cli.cost.writes import count_touches, list_groups, list_row_images
from daicho_cli.plan.changes import EntityChange
from daicho_cli.plan.items import (
    ItemCount,
    ItemsRead,
    LimitCheck,
    ScanOptions,
    confirm_scan,
    sample_items,
    scan_entities,
)

PASSES = (0.5, 1.0)
"""Read units for 4 KB of each scan of all items: the first one touches them, with eventually
consistent reads. The second one proves that none is left."""
ROUNDING = 0.5
"""The mean of what a page is rounded up by, in units of 4 KB."""
DEFAULT_RATE = 500.0
"""Write units of touches a second."""


@dataclass(frozen=True)
class RebuildEstimate:
    """The one-time cost of a rebuild.

    Args:
        touch_units: write units of the touches.
        row_units: write units of the index rows that the declarations derive.
        count_units: write units of their slots, totals and rankings, and of announcements.
        read_units: of the scans, and of rollups.
        dollars: of all units.
        seconds: of the pass that touches the items, at the rate.
    """

    touch_units: float
    row_units: float
    count_units: float
    read_units: float
    dollars: float
    seconds: float

    @property
    def derived_units(self) -> float:
        """Write units of what is derived."""
        return self.row_units + self.count_units


@dataclass(frozen=True)
class EntityRebuild:
    """The rebuild of one entity.

    ``declarations``: what is built, by name. ``items``: how many are touched. ``check``: of the
    items whose derivation was tried. ``sampled``: the items from which the units were computed.
    ``instance_units``: write units of what each instance derives.
    """

    entity: str
    declarations: tuple[str, ...]
    items: ItemCount
    estimate: RebuildEstimate
    check: LimitCheck
    sampled: int
    instance_units: Mapping[tuple[str, int], float] = field(default_factory=dict)


def find_prices(region: str) -> Prices:
    """The prices of a Region; those of the default one where the price file has none."""
    try:
        return load_prices(region)
    except PriceError:
        return load_prices(DEFAULT_REGION)


@dataclass(frozen=True)
class RebuildPreview:
    """The rebuilds of some entities, estimated from items that were read."""

    rebuilds: tuple[EntityRebuild, ...]
    read: ItemsRead
    prices: Prices


def preview_rebuilds(
    deployed: DeployedStage,
    changes: Sequence[EntityChange],
    scan: ScanOptions | None,
    *,
    request: Scan | None = None,
    rate: float = DEFAULT_RATE,
    estimate: Callable[..., EntityRebuild] | None = None,
) -> RebuildPreview:
    """Read the items that rebuilds would touch, and estimate each rebuild. Nothing is written.

    ``scan``: read the whole table; None reads a sample. ``request``: the scan that returns the
    items; by default all of the entities. ``estimate``: by default `estimate_entity`.

    Raises:
        typer.Abort: the caller does not agree to the price of the scan.
        StoreError: the table does not answer.
    """
    prices = find_prices(deployed.region)
    checks: Mapping[str, LimitCheck] = {}
    if scan is None:
        entities = [change.entity for change in changes]
        draw = random.Random()  # noqa: S311  # it chooses a sample
        read = sample_items(deployed.table, entities, deployed.size, draw, request=request)
    else:
        confirm_scan(deployed.size, prices, scan)
        read, checks = scan_entities(deployed.table, changes, scan, request=request)
    estimate = estimate or estimate_entity
    rebuilds = tuple(
        estimate(change, read, deployed.size, prices, checks.get(change.entity), rate=rate)
        for change in changes
    )
    return RebuildPreview(rebuilds, read, prices)


def estimate_entity(
    change: EntityChange,
    read: ItemsRead,
    size: TableSize,
    prices: Prices,
    check: LimitCheck | None = None,
    *,
    rate: float = DEFAULT_RATE,
) -> EntityRebuild:
    """Estimate the rebuild of an entity.

    ``check``: of all its items; by default those in the sample are checked. ``rate``: write units
    of touches a second.
    """
    images = read.entities[change.entity].images
    sample_check = LimitCheck(now=int(utc_now().timestamp()))
    touched = [sample_check.add(change.plan, image, change.compute) for image in images]
    derivable = [image for image in touched if image is not None]
    items = read.count_items(change.entity, size)

    def estimate(incomplete: Collection[tuple[str, int]]) -> RebuildEstimate:
        return estimate_rebuild(change.plan, incomplete, derivable, items.count, prices, rate=rate)

    return EntityRebuild(
        change.entity,
        tuple(sorted({name for name, _ in change.incomplete} | change.rewriting)),
        items,
        estimate(change.incomplete),
        check or sample_check,
        len(derivable),
        {instance: estimate({instance}).derived_units for instance in sorted(change.incomplete)},
    )


def estimate_rebuild(
    plan: EntityPlan,
    incomplete: Collection[tuple[str, int]],
    images: Sequence[Image],
    item_count: int,
    prices: Prices,
    *,
    rate: float = DEFAULT_RATE,
    stream: StreamTraffic | None = None,
) -> RebuildEstimate:
    """Estimate a rebuild: every item is touched once, and derives the incomplete instances.

    Args:
        plan: the new plan of the entity.
        incomplete: the instances that are built, by name and ``since``: of what is declared, and
            of what retires before it was complete. The others are as they were.
        images: a sample of the stored base items, with ``PK`` and ``SK``; what their mean derives
            is derived by each item. Without images every unit is 0.
        item_count: the number of stored items.
        prices: the Region's.
        rate: write units of touches a second.
        stream: shards, and the size of a batch.

    Raises:
        UnderivableError, KeyTooLongError: what the plan cannot derive from an image.
    """
    if not images or item_count <= 0:
        return RebuildEstimate(0, 0, 0, 0, 0, 0)
    built = _select(plan, incomplete)
    touch = sum(_measure_touch(built, image) for image in images) / len(images)
    seconds = touch * item_count / rate
    traffic = Traffic(days=seconds / SECONDS_A_DAY, stream=stream or StreamTraffic())
    load = counting.compute_stream_load(traffic, item_count)
    rows = scanned = 0.0
    for image in images:
        derived = [row for _, row in list_row_images(plan, image)]
        scanned += sum(PASSES) * sum(map(_count_scanned_units, (image, *derived)))
        for _, row in list_row_images(built, image):
            scanned -= PASSES[0] * _count_scanned_units(row)  # the first pass does not find it
            rows += measure_write(None, row)
    counted = _estimate_counts(built, images, item_count, traffic, load)
    announced = load.batches if rows > 0 or counted.write > 0 else 0.0
    reads = scanned / len(images) * item_count + counted.read
    touches, row_units = touch * item_count, rows / len(images) * item_count
    count_units = counted.write + announced
    dollars = prices.price_units(reads, touches + row_units + count_units)
    return RebuildEstimate(touches, row_units, count_units, reads, dollars, seconds)


def estimate_repair(
    change: EntityChange,
    read: ItemsRead,
    size: TableSize,
    prices: Prices,
    check: LimitCheck | None = None,
    *,
    rate: float = DEFAULT_RATE,
) -> EntityRebuild:
    """Estimate a run that writes all rows of an entity's items again; as `estimate_entity`.

    A row is a unit in the table and one in its index. The job and the projector read them all.
    """
    sample, images = LimitCheck(), read.entities[change.entity].images
    derivable = [image for image in images if sample.add(change.plan, image) is not None]
    items = read.count_items(change.entity, size)
    share = items.count / len(derivable) if derivable else 0.0
    touches = rows = reads = 0.0
    names: set[str] = set()
    for image in derivable:
        named = list(list_row_images(change.plan, image))
        names |= {name for name, _ in named}
        derived = [row for _, row in named]
        touches += measure_write(image, {**image, REPAIR_MARK: {"S": "x" * MAX_RUN_ID}})
        rows += sum(measure_write(None, row) for row in derived)
        reads += sum(map(_count_scanned_units, (image, *derived)))
        reads += 2 * ceil(sum(map(measure_image, derived)) / READ_UNIT_BYTES)
    seconds = (touches + rows) * share / rate
    traffic = Traffic(days=seconds / SECONDS_A_DAY, stream=StreamTraffic())
    announced = counting.compute_stream_load(traffic, items.count).batches if rows else 0.0
    touches, rows, reads = touches * share, rows * share + announced, reads * share
    dollars = prices.price_units(reads, touches + rows)
    estimate = RebuildEstimate(touches, rows, 0.0, reads, dollars, seconds)
    declared = tuple(sorted(names)) or ("rows",)
    return EntityRebuild(change.entity, declared, items, estimate, check or sample, len(derivable))


def _select(plan: EntityPlan, instances: Collection[tuple[str, int]]) -> EntityPlan:
    """A plan with these instances only. What retires has limits of its own, so it stays apart."""

    def select(declared: tuple[Numbered, ...]) -> tuple[Numbered, ...]:
        return tuple(each for each in declared if (each.name, each.since) in instances)

    old = plan.retiring
    return replace(
        plan,
        searches=select(plan.searches),
        listings=select(plan.listings),
        aggregates=select(plan.aggregates),
        uniques=select(plan.uniques),
        retiring=RetiringPlan(select(old.searches), select(old.listings), select(old.aggregates)),
    )


def _estimate_counts(
    built: EntityPlan, images: Sequence[Image], item_count: int, traffic: Traffic, load: StreamLoad
) -> Units:
    """The units of the slots, totals and rankings of all aggregates."""
    events = [ItemEvent("create", 1, None, image, {}) for image in images]
    counted = [count_touches(built, event) for event in events]
    total = Units()
    for (aggregate, first), *others in zip(*counted, strict=True):
        touches = sum((touches for _, touches in others), first) * (item_count / len(images))
        alone = replace(built, aggregates=(aggregate,), retiring=RetiringPlan())
        groups = len(list_groups(alone, aggregate.name, events)) or 1
        total += sum_units(
            counting.estimate_counting(aggregate, FigureTraffic(), touches, groups, traffic, load)
        )
    return total


def _count_scanned_units(image: Image) -> float:
    """The share of an item in the read units of a consistent scan, with its share in rounding."""
    return measure_image(image) / READ_UNIT_BYTES + ROUNDING / ITEMS_PER_PAGE


def _measure_touch(built: EntityPlan, image: Image) -> float:
    """The write units of a touch, with the reservations that it writes in one transaction."""
    reserved = build_reservations(built, image) if built.uniques else {}
    writes = (measure_write(None, item, transactional=True) for item in reserved.values())
    touched = {**image, "gen": {"N": str(int(image.get("gen", {"N": "0"})["N"]) + 1)}}
    return measure_write(image, touched, transactional=bool(reserved)) + sum(writes)
