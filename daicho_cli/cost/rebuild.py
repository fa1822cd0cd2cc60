"""What it costs once to bring stored items up to changed declarations. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from daicho.layout.reservations import build_reservations
from daicho.plan import EntityPlan, RetiringPlan
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.attributes import Image, measure_image
from daicho.storage.capacity import READ_UNIT_BYTES
from daicho_cli.cost import counting, derived_writes
from daicho_cli.cost.derived_writes import Touches
from daicho_cli.cost.events import ItemEvent
from daicho_cli.cost.prices import Prices
from daicho_cli.cost.traffic import FigureTraffic, StreamTraffic, Traffic
from daicho_cli.cost.units import measure_write

PASSES = (0.5, 1.0)
"""Read units for 4 KB of each scan of all items: the first one touches them, with eventually
consistent reads. The second one proves that none is left."""
ITEMS_PER_PAGE = 250
"""Items that a page of the scan reads at most. A rebuild records its position after each."""
ROUNDING = 0.5
"""The mean of what a page is rounded up by, in units of 4 KB."""
DEFAULT_RATE = 500.0
SECONDS_A_DAY = 86_400


@dataclass(frozen=True)
class RebuildEstimate:
    """The one-time cost of a rebuild.

    Args:
        items: the items that are touched.
        touch_units: write units of the touches.
        row_units: write units of the index rows that the declarations derive.
        count_units: write units of their slots, totals and rankings, and of announcements.
        read_units: of the scans, and of rollups.
        dollars: of all units.
        seconds: of the pass that touches the items, at the rate.
    """

    items: int
    touch_units: float
    row_units: float
    count_units: float
    read_units: float
    dollars: float
    seconds: float

    @property
    def write_units(self) -> float:
        """All write units."""
        return self.touch_units + self.derived_units

    @property
    def derived_units(self) -> float:
        """Write units of what is derived."""
        return self.row_units + self.count_units


def estimate_rebuild(
    plan: EntityPlan,
    declarations: Collection[str],
    images: Sequence[Image],
    item_count: int,
    prices: Prices,
    *,
    rate: float = DEFAULT_RATE,
    groups: Mapping[str, float] | None = None,
    stream: StreamTraffic | None = None,
) -> RebuildEstimate:
    """Estimate a rebuild: every item is touched once, and derives ``declarations``.

    Args:
        plan: the new plan of the entity.
        declarations: the names of the searches, listings and aggregates that are built; the others
            are as they were.
        images: a sample of the stored base items, with ``PK`` and ``SK``; what their mean derives
            is derived by each item. Without images every unit is 0.
        item_count: the number of stored items.
        prices: the Region's.
        rate: write units of touches a second.
        groups: the number of groups of each aggregate; by default those of the sample.
        stream: shards, and the size of a batch.

    Raises:
        UnderivableError, KeyTooLongError: what the plan cannot derive from an image.
    """
    if not images or item_count <= 0:
        return RebuildEstimate(max(0, item_count), 0, 0, 0, 0, 0, 0)
    touch = sum(_measure_touch(plan, declarations, image) for image in images) / len(images)
    seconds = touch * item_count / rate
    traffic = Traffic(days=seconds / SECONDS_A_DAY, stream=stream or StreamTraffic())
    load = counting.compute_stream_load(traffic, item_count)
    rows = scanned = 0.0
    for image in images:
        scanned += sum(PASSES) * _count_scanned_units(image)
        for name, row in derived_writes.list_row_images(plan, image):
            is_built = name in declarations
            # The first pass finds no row of what is built.
            scanned += (PASSES[1] if is_built else sum(PASSES)) * _count_scanned_units(row)
            rows += measure_write(None, row) if is_built else 0.0
    counted, rollup_reads = _estimate_counts(
        plan, declarations, images, item_count, traffic, groups or {}
    )
    derives = rows > 0 or counted > 0
    reads = scanned / len(images) * item_count + rollup_reads
    touches, row_units = touch * item_count, rows / len(images) * item_count
    count_units = counted + (load.batches if derives else 0.0)
    dollars = prices.price_units(reads, touches + row_units + count_units)
    return RebuildEstimate(item_count, touches, row_units, count_units, reads, dollars, seconds)


def _estimate_counts(
    plan: EntityPlan,
    declarations: Collection[str],
    images: Sequence[Image],
    item_count: int,
    traffic: Traffic,
    groups: Mapping[str, float],
) -> tuple[float, float]:
    """Write and read units of the aggregates among the declarations."""
    load = counting.compute_stream_load(traffic, item_count)
    events = [ItemEvent("create", 1, None, image, {}) for image in images]
    sample_groups = derived_writes.list_groups(plan, events)
    counted = [derived_writes.count_touches(plan, event) for event in events]
    written = read = 0.0
    for aggregate in plan.aggregates:
        if aggregate.name not in declarations:
            continue
        touches = sum((one.get(aggregate.name, Touches()) for one in counted), Touches())
        units = counting.estimate_counting(
            aggregate,
            FigureTraffic(),
            touches * (item_count / len(images)),
            groups.get(aggregate.name, len(sample_groups.get(aggregate.name, ())) or 1),
            traffic,
            load,
        )
        written += units.slots.write + units.rollups.write
        read += units.slots.read + units.rollups.read
    return written, read


def _count_scanned_units(image: Image) -> float:
    """The share of an item in the read units of a consistent scan, with its share in rounding."""
    return measure_image(image) / READ_UNIT_BYTES + ROUNDING / ITEMS_PER_PAGE


def _measure_touch(plan: EntityPlan, declarations: Collection[str], image: Image) -> float:
    """The write units of a touch, with the reservations that it writes in one transaction."""
    uniques = [each for each in plan.derived_uniques if each.name in declarations]
    built = replace(plan, uniques=tuple(uniques), retiring=RetiringPlan())
    reserved = build_reservations(built, image) if uniques else {}
    writes = (measure_write(None, item, transactional=True) for item in reserved.values())
    return measure_write(image, _touch(image), transactional=bool(reserved)) + sum(writes)


def _touch(image: Image) -> Image:
    return {**image, "gen": {"N": str(int(image.get("gen", {"N": "0"})["N"]) + 1)}}
