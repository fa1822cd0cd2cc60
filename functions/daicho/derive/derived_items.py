"""Image in, derived items out: pure, and the only place that decides them.

Everything here reads nothing but the image and the plan of its generation (EXACTNESS rule 2).
Whatever it raises means that the image cannot be computed.
"""

from __future__ import annotations

from collections.abc import Iterator

from daicho.derive.index_row import MOST_COPIED, Row, is_too_large, written
from daicho.derive.limits import check_few
from daicho.layout.components import (
    UnderivableError,
    combinations,
    key_components,
    meets_condition,
    optional_text,
)
from daicho.layout.item_keys import (
    NEWEST,
    derived_partition,
    gram_list,
    listing_list,
    order_key,
    sort_key,
)
from daicho.plan import EntityPlan, ListingPlan
from daicho.search import analyzer
from daicho.storage import keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey, key_of


def rows(plan: EntityPlan, image: Image) -> dict[ItemKey, Row]:
    """The derived items of a base item: postings and listing rows, each with its place in GSI2.

    A derived item's key holds the whole key of its base item, so no two base items ever write
    one derived item (EXACTNESS rule 8).

    Raises:
        UnderivableError: over 400 rows, or a field of another type than the plan says.
        keys.KeyTooLongError: a key over DynamoDB's limits, which DynamoDB would refuse for good.
    """
    if not plan.searches and not plan.listings:
        return {}
    base = key_of(image)
    tenant = keys.parse(base.pk)[0]
    owner = keys.check_partition(derived_partition(base, plan.name))
    own_key = key_components(plan, image)
    found: dict[ItemKey, Row] = {}
    for search in plan.searches:
        order = keys.check_sort(order_key(plan, image, NEWEST))
        shard = keys.shard_of(search.shards, *own_key)
        for posted in analyzer.postings_of(search, image):
            key = ItemKey(owner, keys.check_sort(sort_key(search, *posted)))
            found[key] = Row(
                keys.check_partition(gram_list(tenant, plan, search, posted[0], shard)), order
            )
    for listing in plan.listings:
        copy = written(image, listing.copies)
        for parts in listed(plan, listing, image):
            key = ItemKey(owner, keys.check_sort(sort_key(listing, *parts)))
            order = keys.check_sort(order_key(plan, image, listing.order))
            shard = keys.shard_of(listing.shards, *own_key)
            place = keys.check_partition(listing_list(tenant, plan, listing, parts, shard))
            found[key] = Row(place, order, copy)
            check_few(plan, found)  # here too: the product of two sets may have no end
        if copy is not None and is_too_large(copy):
            what = f"{plan.name}.{listing.name} copies over {MOST_COPIED} bytes"
            raise UnderivableError(what, max(listing.copies, key=lambda n: len(str(image.get(n)))))
    check_few(plan, found)
    return found


def listed(plan: EntityPlan, listing: ListingPlan, image: Image) -> Iterator[tuple[str, ...]]:
    """The partitions of a listing that an image stands in: none, one, or each of a set."""
    if meets_condition(plan, listing.where, image) and all(
        optional_text(plan, image, name) is not None for name in listing.order
    ):
        yield from combinations(plan, listing.partition, image)
