"""Index rows and groups that follow from a change of an item: pure.

They are those that `daicho.derive` computes from its images.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from daicho.derive.contributions import Amount, compute_contributions
from daicho.derive.derived_items import compute_index_rows
from daicho.derive.index_row import IndexRow
from daicho.plan import AggregatePlan, EntityPlan
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho_cli.cost.events import ItemEvent
from daicho_cli.cost.examples import CREATED, ExampleError, build_stored_item
from daicho_cli.cost.units import Units, measure_write

T = TypeVar("T")
SEQUENCE = "2026-11-01T00:00:00.000#" + "0" * 40
"""As long as the numbers that derived items and slots carry."""


def estimate_row_writes(plan: EntityPlan, event: ItemEvent) -> dict[str, Units]:
    """The units of the index rows that one change writes, by the name of the declaration."""
    before, after = (_compute_rows(plan, image) for image in (event.before, event.after))
    written: defaultdict[str, float] = defaultdict(float)
    for key in before.keys() | after.keys():
        old, new = before.get(key), after.get(key)
        if old != new:
            units = measure_write(_build_row(key, old) if old else None, _build_row(key, new))
            written[keys.parse(key.sk)[0]] += units
    return {name: Units(write=units) for name, units in written.items()}


def list_row_images(plan: EntityPlan, image: Image) -> Iterator[tuple[str, Image]]:
    """The index rows of a stored item, each with the name of its declaration."""
    for key, row in compute_index_rows(plan, image).items():
        yield keys.parse(key.sk)[0], _build_row(key, row)


@dataclass(frozen=True)
class Touches:
    """How many groups changes count in: of live items, and of expired ones that stay counted.

    Both have slots of their own.
    """

    live: float = 0.0
    kept: float = 0.0

    def __add__(self, other: Touches) -> Touches:
        return Touches(self.live + other.live, self.kept + other.kept)

    def __mul__(self, count: float) -> Touches:
        return Touches(self.live * count, self.kept * count)


def count_touches(plan: EntityPlan, event: ItemEvent) -> dict[str, Touches]:
    """How many groups one change counts in, by the name of the aggregate."""
    before, after = (_compute_amounts(plan, image) for image in (event.before, event.after))
    touches: defaultdict[str, Touches] = defaultdict(Touches)
    for tally in before.keys() | after.keys():
        if before.get(tally, Amount()) != after.get(tally, Amount()):
            aggregate = get_aggregate(plan, tally)
            is_kept = event.kind == "expire" and aggregate.on_expiry == "keep"
            touches[aggregate.name] += Touches(1.0, float(is_kept))
    return touches


def list_groups(plan: EntityPlan, events: Iterable[ItemEvent]) -> dict[str, set[str]]:
    """The groups of the examples, by the name of the aggregate."""
    groups: defaultdict[str, set[str]] = defaultdict(set)
    for event in events:
        for image in (event.before, event.after):
            for tally in _compute_amounts(plan, image):
                groups[get_aggregate(plan, tally).name].add(tally)
    return groups


def get_aggregate(plan: EntityPlan, tally: str) -> AggregatePlan:
    """The aggregate that the partition key of a tally belongs to; it may be one that retires."""
    _, declared, since, *_ = keys.parse(tally)
    instance = (declared.partition(".")[2], int(since))
    return next(
        aggregate
        for aggregate in plan.derived_aggregates
        if (aggregate.name, aggregate.since) == instance
    )


def list_counted(plan: EntityPlan) -> tuple[AggregatePlan, ...]:
    """The aggregates that writes count in, one of each name: those that were removed too."""
    declared = {aggregate.name for aggregate in plan.aggregates}
    removed = (each for each in plan.retiring.aggregates if each.name not in declared)
    return (*plan.aggregates, *removed)


def _compute_rows(plan: EntityPlan, image: Image | None) -> Mapping[ItemKey, IndexRow]:
    return {} if image is None else _derive(compute_index_rows, plan, image)


def _compute_amounts(plan: EntityPlan, image: Image | None) -> Mapping[str, Amount]:
    return {} if image is None else _derive(compute_contributions, plan, image)


def _derive(derive: Callable[[EntityPlan, Image], T], plan: EntityPlan, image: Image) -> T:
    try:
        return derive(plan, build_stored_item(plan, image))
    except (ValueError, ArithmeticError, LookupError) as error:
        raise ExampleError(f"an example of {plan.name} derives nothing: {error}") from error


def _build_row(key: ItemKey, row: IndexRow | None) -> Image:
    """A derived item with its number, or the tombstone in its place."""
    if row is not None:
        return {**row.to_item(key), "seq": {"S": SEQUENCE}}
    return {
        "PK": {"S": key.pk},
        "SK": {"S": key.sk},
        "seq": {"S": SEQUENCE},
        "ttl": {"N": str(int(CREATED.timestamp()))},
    }
