"""What a rebuild of the changed entities costs: from the items that were read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from daicho.runtime.clock import utc_now
from daicho_cli.aws.table_size import TableSize
from daicho_cli.cost.prices import DEFAULT_REGION, PriceError, Prices, load_prices
from daicho_cli.cost.rebuild import DEFAULT_RATE, RebuildEstimate, estimate_rebuild
from daicho_cli.plan.assessment import EntityChange
from daicho_cli.plan.item_reader import ItemCount, ItemsRead
from daicho_cli.plan.limits import LimitCheck


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
