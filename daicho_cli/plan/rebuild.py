"""What a rebuild of the changed entities costs: from the items that were read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from daicho.cost.prices import Prices
from daicho.cost.rebuild import RebuildEstimate, estimate_rebuild
from daicho.plan import EntityPlan, RetiringPlan
from daicho.plan.instances import list_declarations, list_retiring
from daicho.runtime.clock import utc_now
from daicho.storage.attributes import Image
from daicho_cli.aws.table_size import TableSize
from daicho_cli.plan.assessment import EntityChange
from daicho_cli.plan.item_reader import ItemCount, ItemsRead
from daicho_cli.plan.limits import LimitCheck


@dataclass(frozen=True)
class EntityRebuild:
    """The rebuild of one entity.

    ``declarations``: what is built, by name. ``items``: how many are touched. ``check``: of the
    items whose derivation was tried. ``sampled``: the items from which the units were computed.
    """

    entity: str
    declarations: tuple[str, ...]
    items: ItemCount
    estimate: RebuildEstimate
    check: LimitCheck
    sampled: int


def estimate_entity(
    change: EntityChange,
    read: ItemsRead,
    size: TableSize,
    prices: Prices,
    check: LimitCheck | None = None,
) -> EntityRebuild:
    """Estimate the rebuild of an entity.

    ``check``: of all its items; by default those in the sample are checked.
    """
    images = read.entities[change.entity].images
    sample_check = LimitCheck(now=int(utc_now().timestamp()))
    touched = [sample_check.add(change.plan, image, change.compute) for image in images]
    derivable = [image for image in touched if image is not None]
    items = read.count_items(change.entity, size)
    estimate = estimate_both_sides(change.plan, change.incomplete, derivable, items.count, prices)
    return EntityRebuild(
        change.entity,
        tuple(sorted({name for name, _ in change.incomplete} | change.rewriting)),
        items,
        estimate,
        check or sample_check,
        len(derivable),
    )


def estimate_both_sides(
    plan: EntityPlan,
    incomplete: Collection[tuple[str, int]],
    images: Sequence[Image],
    item_count: int,
    prices: Prices,
) -> RebuildEstimate:
    """Estimate a rebuild of what a generation declares, and of what retires in it.

    An instance that retires may lack items too, if it was replaced before it was complete. The
    estimate distinguishes declarations by name only, so each side is estimated alone.
    """
    sides = (
        (replace(plan, retiring=RetiringPlan()), list_declarations(plan)),
        (
            replace(
                plan,
                searches=plan.retiring.searches,
                listings=plan.retiring.listings,
                aggregates=plan.retiring.aggregates,
                counters=(),
                retiring=RetiringPlan(),
            ),
            list_retiring(plan),
        ),
    )
    declared, retiring = (
        estimate_rebuild(
            side,
            [name for name, each in declarations.items() if (name, each.since) in incomplete],
            images,
            item_count,
            prices,
        )
        for side, declarations in sides
    )
    row_units = declared.row_units + retiring.row_units
    count_units = declared.count_units + retiring.count_units
    # The items are read and touched once for both sides.
    write_units = declared.touch_units + row_units + count_units
    return replace(
        declared,
        row_units=row_units,
        count_units=count_units,
        dollars=prices.price_units(declared.read_units, write_units),
    )
