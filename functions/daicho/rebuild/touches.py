"""A touch gives a stored item the newest generation, and changes nothing else (rule 29).

The record of a touch has an old image of the old generation and a new one of the new generation.
So the projector derives what the new generation has more. Neither the version nor the ETag changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from daicho.derive import contributions, derived_items
from daicho.layout.backfill_state import BackfillState, is_complete, render_instance
from daicho.layout.marks import REPAIR_MARK
from daicho.plan import EntityPlan, Ledger
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, Image, get_key, measure_image
from daicho.storage.capacity import WRITE_UNIT_BYTES
from daicho.storage.requests import Scan, Update

MAX_REPEATED_ITEMS = 1_000
"""Items that are read once more after an interruption."""
MAX_OPERANDS = 100
"""The limit of DynamoDB for the operands of ``IN``."""
MAX_PARALLELISM = 4
"""Segments that are read at once."""
ITEMS_PER_PAGE = MAX_REPEATED_ITEMS // MAX_PARALLELISM
"""Items that a page reads: the position is recorded after a page of each segment."""


def select_older_items(
    targets: Mapping[str, int], *, consistent: bool, limit: int | None = ITEMS_PER_PAGE
) -> Scan:
    """A scan of the whole table that returns the items to touch.

    ``targets``: the generation that the items of each entity are to have. ``limit``: the items
    that a page reads at most.
    """
    values: dict[str, AttributeValue] = {}
    terms = []
    for place, (entity, generation) in enumerate(sorted(targets.items())):
        terms.append(f"(#type = :e{place} AND gen < :g{place})")
        values[f":e{place}"] = {"S": entity}
        values[f":g{place}"] = attributes.to_value(generation)
    return Scan(
        limit=limit,
        consistent=consistent,
        filter=" OR ".join(terms),
        names={"#type": "type"},
        values=values,
    )


def select_items_of_entities(
    entities: Iterable[str], tenant: str, run: str, *, limit: int | None = ITEMS_PER_PAGE
) -> Scan:
    """A consistent scan of the whole table that returns the items that a repair run touches.

    ``tenant``: only of its items; "" for all. ``limit``: the items that a page reads at most.
    """
    values: dict[str, AttributeValue] = {
        f":e{place}": {"S": entity} for place, entity in enumerate(sorted(entities))
    }
    places = [*values]
    some = (places[at : at + MAX_OPERANDS] for at in range(0, len(places), MAX_OPERANDS))
    types = " OR ".join(f"#type IN ({', '.join(each)})" for each in some)
    terms = [f"({types})", "(attribute_not_exists(#repair) OR #repair <> :run)"]
    values[":run"] = {"S": run}
    if tenant:
        terms.append("begins_with(PK, :tenant)")
        values[":tenant"] = {"S": keys.render_prefix(tenant)}
    names = {"#type": "type", "#repair": REPAIR_MARK}
    filter = " AND ".join(terms)
    return Scan(limit=limit, consistent=True, filter=filter, names=names, values=values)


def build_touch(image: Image, generation: int) -> Update:
    """The touch of an item, on condition that it exists and is of the generation that was read.

    An unconditional touch would create items that were deleted meanwhile. Code that was rolled
    back may have written an even older generation since, whose touch also migrates fields, or
    changes the expiry: a later pass reads the item again.
    """
    return Update(
        get_key(image),
        "SET gen = :generation",
        condition="attribute_exists(PK) AND gen = :read",
        values={
            ":generation": attributes.to_value(generation),
            ":read": image.get("gen", attributes.to_value(0)),
        },
    )


def find_obstacle(plan: EntityPlan, image: Image) -> str | None:
    """Why the stream could not derive an item by a plan; None if it can.

    Such an item is not touched: its record would be set aside, and the item would be in no list.
    """
    try:
        derived_items.compute_index_rows(plan, image)
        contributions.compute_contributions(plan, image)
    except Exception as error:  # whatever it is: the projector would set the record aside
        return f"{type(error).__name__}: {error}"
    return None


def estimate_units(image: Image) -> float:
    """Write units of a touch: those of the whole item, and again in an index of whole items."""
    units = math.ceil(measure_image(image) / WRITE_UNIT_BYTES)
    return 2 * units if "GSI1PK" in image else units


def list_lacking(state: BackfillState, ledger: Ledger) -> frozenset[str]:
    """Instances that lack expired items: they count these for ever, and a touch finds none.

    An aggregate that keeps what expired, and was introduced after items may have expired, lacks
    those, unless they are added from the archive (`daicho.rebuild.kept_parts`).
    """
    newest = ledger.newest_generation(state.entity).plan
    derived = {render_instance(instance) for instance in newest.derived_instances}
    lacking = {
        render_instance((aggregate.name, aggregate.since))
        for aggregate in newest.derived_aggregates
        if aggregate.on_expiry == "keep"
        and not is_complete((aggregate.name, aggregate.since), state, ledger)
    }
    return frozenset(lacking | (state.lacking & derived))
