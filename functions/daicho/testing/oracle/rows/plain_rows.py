"""The rows of an item: the derived items that `docs/reference/table-layout.md` describes.

It shares no code with `daicho.derive`, `daicho.search`, `daicho.layout` and `daicho.storage.keys`,
which are under test.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any

from daicho.derive.derived_items import IndexRow
from daicho.plan import AggregatePlan, EntityPlan, ListingPlan, SearchPlan
from daicho.storage.attributes import Image, ItemKey
from daicho.testing.oracle.rows.plain_amounts import (
    list_plain_groups,
    list_plain_values,
    meets_plainly,
    read_number,
    read_plain_text,
)
from daicho.testing.oracle.rows.plain_grams import list_postings
from daicho.testing.oracle.rows.plain_keys import (
    compute_shard,
    join_parts,
    render_rows_partition,
    render_score,
)

Declaration = SearchPlan | ListingPlan | AggregatePlan
SHARDED_GRAM = 1
"""The length of the longest gram whose list is spread over the shards of a search."""
Row = tuple[Sequence[str], Sequence[str], str]
"""The last components of its sort key and of its list, and its order in the list."""


def list_all_declarations(plan: EntityPlan) -> Iterator[Declaration]:
    """Everything that a plan derives: what it declares, then what retires."""
    for source in (plan, plan.retiring):
        yield from source.searches
        yield from source.listings
        yield from source.aggregates


def compute_plain_rows(
    plan: EntityPlan, image: Image, instance: tuple[str, int] | None = None
) -> dict[ItemKey, IndexRow]:
    """The rows of an image by a plan. ``instance``: a name and ``since``; None for all."""
    pk = image["PK"]["S"]
    tenant, partition = pk.partition("#")[0], render_rows_partition(plan.name, pk, image["SK"]["S"])
    rows: dict[ItemKey, IndexRow] = {}
    for declaration in list_all_declarations(plan):
        name, since = declaration.name, str(declaration.since)
        if instance not in (None, (name, declaration.since)):
            continue
        copy = _write_copy(declaration, image)
        for sort_parts, list_parts, order in _list_rows(plan, declaration, image):
            key = ItemKey(partition, join_parts((name, since, *sort_parts)))
            place = join_parts((f"{plan.name}.{name}", since, *list_parts))
            rows[key] = IndexRow(f"{tenant}#{place}", order, copy)
    return rows


def _list_rows(plan: EntityPlan, declaration: Declaration, image: Image) -> Iterable[Row]:
    match declaration:
        case SearchPlan():
            return _list_search_rows(plan, declaration, image)
        case ListingPlan():
            return _list_listing_rows(plan, declaration, image)
        case AggregatePlan():
            return _list_extreme_rows(plan, declaration, image)


def _list_search_rows(plan: EntityPlan, search: SearchPlan, image: Image) -> Iterator[Row]:
    """A row for each gram, newest first."""
    own = _read_fields(plan, image, (*plan.key.partition, *plan.key.sort))
    order = join_parts((image["created_at"]["S"], *own))
    for gram, *rest in list_postings(search, image):
        is_sharded = search.shards > 1 and len(gram) <= SHARDED_GRAM
        shard = [str(compute_shard(search.shards, own))] if is_sharded else []
        yield (gram, *rest), (gram, *shard), order


def _list_listing_rows(plan: EntityPlan, listing: ListingPlan, image: Image) -> Iterator[Row]:
    """A row for each list with the item: none if it lacks a part, or does not meet a condition."""
    ordered = _read_fields(plan, image, listing.order)
    if len(ordered) < len(listing.order) or not meets_plainly(plan, listing.where, image):
        return
    own = _read_fields(plan, image, (*plan.key.partition, *plan.key.sort))
    shard = [str(compute_shard(listing.shards, own))] if listing.shards > 1 else []
    choices = [list_plain_values(plan, part, image) for part in listing.partition]
    for parts in product(*choices):
        yield parts, (*parts, *shard), join_parts((*ordered, *own))


def _list_extreme_rows(plan: EntityPlan, aggregate: AggregatePlan, image: Image) -> Iterator[Row]:
    """A row for each group and field with a smallest or largest value, the highest first."""
    own = _read_fields(plan, image, (*plan.key.partition, *plan.key.sort))
    fields = dict.fromkeys(figure.field for figure in aggregate.figures if figure.field)
    extremes = {figure.field for figure in aggregate.figures if figure.kind in ("min", "max")}
    for place, field in enumerate(fields):
        value = read_number(image, field)
        if field not in extremes or value is None:
            continue
        order = join_parts((render_score(value), *own))
        for group in list_plain_groups(plan, aggregate, image):
            bucket = (group.chunk, group.code) if aggregate.series is not None else ()
            parts = (str(place), *group.within, *group.by, *bucket)
            yield parts, parts, order


def _read_fields(plan: EntityPlan, image: Image, names: Iterable[str]) -> list[str]:
    """The values of those of these fields that have one, as components."""
    values = (read_plain_text(plan, name, image) for name in names)
    return [value for value in values if value is not None]


def _write_copy(declaration: Declaration, image: Image) -> str | None:
    """The attributes that a listing copies, and the ``ttl``, as sorted JSON."""
    if not isinstance(declaration, ListingPlan) or not declaration.copies:
        return None
    copied: dict[str, Any] = {}
    for name in (*declaration.copies, "ttl"):
        if name in image:
            value = image[name]
            copied[name] = {"SS": sorted(value["SS"])} if "SS" in value else value
    return json.dumps(copied, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
