"""Index rows and groups that follow from a change of an item: pure.

They are those that `daicho.derive` computes from its images.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from daicho.derive.contributions import Amount, compute_contributions
from daicho.derive.derived_items import IndexRow, compute_index_rows
from daicho.plan import AggregatePlan, EntityPlan, RetiringPlan
from daicho.storage import keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho_cli.cost.examples import CREATED, ExampleError, ItemEvent, build_stored_item
from daicho_cli.cost.units import Units, measure_write

K = TypeVar("K")
V = TypeVar("V")
SEQUENCE = "2026-11-01T00:00:00.000#" + "0" * 40
"""As long as the numbers that derived items and slots carry."""


def estimate_row_writes(plan: EntityPlan, event: ItemEvent) -> dict[str, Units]:
    """The units of the index rows that one change writes, by the name of the declaration."""
    before, after = (
        _derive(compute_index_rows, plan, image) for image in (event.before, event.after)
    )
    written: defaultdict[str, float] = defaultdict(float)
    for key in dict.fromkeys((*before, *after)):
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


def count_touches(plan: EntityPlan, event: ItemEvent) -> list[tuple[AggregatePlan, Touches]]:
    """How many groups of each aggregate one change counts in, also of those that retire."""
    touches = []
    for aggregate in plan.derived_aggregates:
        before, after = (_compute_amounts(plan, aggregate, i) for i in (event.before, event.after))
        tallies = {*before, *after}
        changed = sum(before.get(t, Amount()) != after.get(t, Amount()) for t in tallies)
        is_kept = event.kind == "expire" and aggregate.on_expiry == "keep"
        touches.append((aggregate, Touches(changed, changed * is_kept)))
    return touches


def list_groups(plan: EntityPlan, name: str, events: Iterable[ItemEvent]) -> list[str]:
    """The groups of the examples in the aggregates of this name."""
    tallies = (
        tally
        for aggregate in plan.derived_aggregates
        for event in events
        for image in (event.before, event.after)
        for tally in _compute_amounts(plan, aggregate, image)
        if aggregate.name == name
    )
    return list(dict.fromkeys(tallies))


def _compute_amounts(
    plan: EntityPlan, aggregate: AggregatePlan, image: Image | None
) -> Mapping[str, Amount]:
    alone = replace(plan, aggregates=(aggregate,), retiring=RetiringPlan())
    return _derive(compute_contributions, alone, image)


def _derive(
    derive: Callable[[EntityPlan, Image], Mapping[K, V]], plan: EntityPlan, image: Image | None
) -> Mapping[K, V]:
    """What an image derives; nothing without an image."""
    if image is None:
        return {}
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
