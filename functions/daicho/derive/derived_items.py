"""Computes the derived items of an image. Pure, and the only module that decides them.

The functions read only the image and the plan of its generation (EXACTNESS rule 2). Any exception
means that the derived items of the image cannot be computed.
"""

from __future__ import annotations

from collections.abc import Iterator

from daicho.derive.index_row import MAX_COPY_BYTES, IndexRow, is_too_large, write_copy
from daicho.derive.limits import check_count
from daicho.layout.components import (
    UnderivableError,
    list_combinations,
    meets_condition,
    render_field,
    render_key_components,
)
from daicho.layout.item_keys import (
    NEWEST,
    render_derived_partition,
    render_derived_sort_key,
    render_gram_list,
    render_listing_list,
    render_order_key,
)
from daicho.plan import EntityPlan, ListingPlan
from daicho.search import analyzer
from daicho.storage import keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey, get_key


def compute_index_rows(plan: EntityPlan, image: Image) -> dict[ItemKey, IndexRow]:
    """The derived items of a base item: postings and listing rows, each with its place in GSI2.

    A derived item's key holds the whole key of its base item, so no two base items ever write
    one derived item (EXACTNESS rule 8).

    Raises:
        UnderivableError: over 400 rows, or a field of another type than the plan declares.
        keys.KeyTooLongError: a key over DynamoDB's limits, which DynamoDB would refuse for good.
    """
    if not plan.searches and not plan.listings:
        return {}
    base = get_key(image)
    tenant = keys.parse(base.pk)[0]
    owner = keys.check_partition(render_derived_partition(base, plan.name))
    own_key = render_key_components(plan, image)
    rows: dict[ItemKey, IndexRow] = {}
    for search in plan.searches:
        order = keys.check_sort(render_order_key(plan, image, NEWEST))
        shard = keys.compute_shard(search.shards, *own_key)
        for posted in analyzer.compute_postings(search, image):
            key = ItemKey(owner, keys.check_sort(render_derived_sort_key(search, *posted)))
            rows[key] = IndexRow(
                keys.check_partition(render_gram_list(tenant, plan, search, posted[0], shard)),
                order,
            )
    for listing in plan.listings:
        copy = write_copy(image, listing.copies)
        for parts in list_listing_partitions(plan, listing, image):
            key = ItemKey(owner, keys.check_sort(render_derived_sort_key(listing, *parts)))
            order = keys.check_sort(render_order_key(plan, image, listing.order))
            shard = keys.compute_shard(listing.shards, *own_key)
            place = keys.check_partition(render_listing_list(tenant, plan, listing, parts, shard))
            rows[key] = IndexRow(place, order, copy)
            check_count(plan, rows)  # here too: the product of two sets may have no end
        if copy is not None and is_too_large(copy):
            what = f"{plan.name}.{listing.name} copies over {MAX_COPY_BYTES} bytes"
            raise UnderivableError(what, max(listing.copies, key=lambda n: len(str(image.get(n)))))
    check_count(plan, rows)
    return rows


def list_listing_partitions(
    plan: EntityPlan, listing: ListingPlan, image: Image
) -> Iterator[tuple[str, ...]]:
    """The partitions of a listing that contain an image: none, one, or one per set member."""
    if meets_condition(plan, listing.where, image) and all(
        render_field(plan, image, name) is not None for name in listing.order
    ):
        yield from list_combinations(plan, listing.partition, image)
