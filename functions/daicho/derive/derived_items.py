"""The derived items of an image. Pure, and the only module that decides them.

The functions read only the image and the plan of its generation (EXACTNESS rule 2). Any exception
means that the derived items of the image cannot be computed.

A derived item may have a copy of attributes of its base item. Then a page needs no read of the item
itself. A copy is DynamoDB's own JSON with sorted names: two copies are equal if and only if their
contents are equal. It includes the ``ttl``, since an expired item is hidden at once.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from daicho.derive.contributions import MAX_ROWS, find_place, read_summable
from daicho.layout.item_keys import (
    NEWEST,
    UnderivableError,
    has_fields,
    list_combinations,
    meets_condition,
    render_derived_partition,
    render_derived_sort_keys,
    render_extremes_list,
    render_gram_lists,
    render_key_fields,
    render_listing_lists,
    render_order_key,
)
from daicho.layout.retention import TOMBSTONE_RETENTION
from daicho.plan import AggregatePlan, EntityPlan, ListingPlan, RetiringPlan, SearchPlan
from daicho.search import grams
from daicho.storage import keys
from daicho.storage.attributes import AttributeValue, Image, ItemKey, get_key, get_text

COPY_ATTRIBUTE = "copy"
"""The attribute of a derived item; GSI2 projects it."""
MAX_COPY_BYTES = 400 * 1024 - 8 * 1024
"""The limit of a copy. A derived item also holds its keys and its number."""


class IndexRow(NamedTuple):
    """The place of a derived item in GSI2, and the attributes that it copies from its base item.

    ``copy`` is text (`write_copy`): a value that is 32 levels deep would be too deep for DynamoDB
    if it were nested in another attribute.
    """

    gsi2pk: str
    gsi2sk: str
    copy: str | None = None

    @classmethod
    def from_item(cls, item: Image) -> IndexRow:
        """Read a derived item that is not a tombstone."""
        return cls(item["GSI2PK"]["S"], item["GSI2SK"]["S"], get_text(item, COPY_ATTRIBUTE))

    def to_item(self, key: ItemKey) -> dict[str, dict[str, str]]:
        """The derived item under this key, but for its number."""
        item = {
            "PK": {"S": key.pk},
            "SK": {"S": key.sk},
            "GSI2PK": {"S": self.gsi2pk},
            "GSI2SK": {"S": self.gsi2sk},
        }
        if self.copy is not None:
            item[COPY_ATTRIBUTE] = {"S": self.copy}
        return item


def count_units(rows: Iterable[IndexRow]) -> int:
    """What writes of these take in the table, with keys of up to 512 bytes."""
    return sum(1 if r.copy is None else (len(r.copy.encode()) + 1_535) // 1_024 for r in rows)


def build_derived_item(
    key: ItemKey, row: IndexRow | None, seq: str, now: dt.datetime
) -> dict[str, AttributeValue]:
    """A derived item as the record ``seq`` leaves it: a tombstone without a row."""
    number = {"seq": {"S": seq}}
    if row is not None:
        return {**row.to_item(key), **number}
    expiry = {"N": str(int((now + TOMBSTONE_RETENTION).timestamp()))}
    return {"PK": {"S": key.pk}, "SK": {"S": key.sk}, "ttl": expiry, **number}


def write_copy(image: Image, names: Sequence[str]) -> str | None:
    """The copy of these attributes. None if there are no names."""
    if not names:
        return None
    copied = {name: _sort_set(image[name]) for name in (*names, "ttl") if name in image}
    return json.dumps(copied, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def read_copy(copy: str) -> Image:
    """The attributes of a copy."""
    image: Image = json.loads(copy)
    return image


def is_too_large(copy: str) -> bool:
    """Whether a derived item with this copy would be over 400 KB: it could never be written."""
    return len(copy) * 4 > MAX_COPY_BYTES and len(copy.encode()) > MAX_COPY_BYTES


def _sort_set(value: AttributeValue) -> AttributeValue:
    # A set has no order, and DynamoDB returns it in an order of its own.
    return {"SS": sorted(value["SS"])} if "SS" in value else value


def compute_index_rows(plan: EntityPlan, image: Image) -> dict[ItemKey, IndexRow]:
    """The derived items of a base item: postings and listing rows, each with its place in GSI2.

    A derived item's key holds the whole key of its base item, so no two base items ever write
    one derived item (EXACTNESS rule 8).

    Raises:
        UnderivableError: over 400 rows of what is declared, or of what retires (rule 25); or a
            field of another type than the plan declares.
        keys.KeyTooLongError: a key over DynamoDB's limits, which DynamoDB would refuse for good.
    """
    rows = _compute_rows(plan, image, plan)
    if plan.has_retiring:
        rows |= _compute_rows(plan, image, plan.retiring)
    return rows


def _compute_rows(
    plan: EntityPlan, image: Image, derived: EntityPlan | RetiringPlan
) -> dict[ItemKey, IndexRow]:
    measuring = [aggregate for aggregate in derived.aggregates if aggregate.has_rows]
    if not derived.searches and not derived.listings and not measuring:
        return {}
    rows = _IndexRows(plan, image)
    for search in derived.searches:
        rows.add_postings(search)
    for listing in derived.listings:
        rows.add_listing_rows(listing)
    for aggregate in measuring:
        rows.add_value_rows(aggregate)
    return rows.by_key


def list_listing_partitions(
    plan: EntityPlan, listing: ListingPlan, image: Image
) -> Iterator[tuple[str, ...]]:
    """The partitions of a listing that contain an image: none, one, or one per set member."""
    if not meets_condition(plan, listing.where, image):
        return iter(())
    if not has_fields(plan, image, listing.order):
        return iter(())
    return list_combinations(plan, listing.partition, image)


class _IndexRows:
    """The derived items of one image, added declaration by declaration."""

    def __init__(self, plan: EntityPlan, image: Image) -> None:
        base = get_key(image)
        self._plan = plan
        self._image = image
        self._tenant = keys.parse(base.pk)[0]
        self._owner = keys.check_partition(render_derived_partition(base, plan.name))
        self._own_key = render_key_fields(plan, image, plan.key.fields)
        self.by_key: dict[ItemKey, IndexRow] = {}

    def add_postings(self, search: SearchPlan) -> None:
        """Add a posting for each gram of the fields that a search reads."""
        order = keys.check_sort(render_order_key(self._plan, self._image, NEWEST))
        shard = keys.compute_shard(search.shards, *self._own_key)
        postings = list(grams.compute_postings(search, self._image))
        sharded_grams = [(posting[0], shard) for posting in postings]
        partitions = render_gram_lists(self._tenant, self._plan, search, sharded_grams)
        sort_keys = render_derived_sort_keys(search, postings)
        self._add(zip(sort_keys, partitions, strict=True), order)

    def add_listing_rows(self, listing: ListingPlan) -> None:
        """Add a row for each partition of a listing that contains the image."""
        copy = write_copy(self._image, listing.copies) if listing.copies else None
        # One row too many is enough to refuse: the product of two sets may have no end.
        room = MAX_ROWS + 1 - len(self.by_key)
        all_parts = list(islice(list_listing_partitions(self._plan, listing, self._image), room))
        if all_parts:
            order = keys.check_sort(render_order_key(self._plan, self._image, listing.order))
            shard = keys.compute_shard(listing.shards, *self._own_key)
            sharded_parts = [(parts, shard) for parts in all_parts]
            partitions = render_listing_lists(self._tenant, self._plan, listing, sharded_parts)
            sort_keys = render_derived_sort_keys(listing, all_parts)
            self._add(zip(sort_keys, partitions, strict=True), order, copy)
        if copy is not None and is_too_large(copy):
            what = f"{self._plan.name}.{listing.name} copies over {MAX_COPY_BYTES} bytes"
            raise UnderivableError(
                what, max(listing.copies, key=lambda name: len(str(self._image.get(name))))
            )

    def add_value_rows(self, aggregate: AggregatePlan) -> None:
        """Add a row for each group and each field whose smallest or largest value is declared."""
        if not meets_condition(self._plan, aggregate.where, self._image):
            return
        groups = list(_list_value_lists(self._plan, aggregate, self._image))
        for place, measured in enumerate(aggregate.measured_fields):
            value = self._image.get(measured.field)
            if not measured.has_rows or value is None or "NULL" in value:
                continue
            score = keys.render_inverted_score(read_summable(value["N"], measured.field))
            order = keys.check_sort(keys.render(score, *self._own_key))
            all_parts = [(str(place), *group) for group in groups]
            partitions = [
                render_extremes_list(self._tenant, self._plan, aggregate, parts)
                for parts in all_parts
            ]
            sort_keys = render_derived_sort_keys(aggregate, all_parts)
            self._add(zip(sort_keys, partitions, strict=True), order)

    def _add(self, places: Iterable[tuple[str, str]], order: str, copy: str | None = None) -> None:
        """Add rows, each at a sort key of its own and in a partition of GSI2."""
        for sort_key, partition in places:
            key = ItemKey(self._owner, keys.check_sort(sort_key))
            self.by_key[key] = IndexRow(keys.check_partition(partition), order, copy)
        if len(self.by_key) > MAX_ROWS:
            raise UnderivableError(f"{self._plan.name} derives too many items; at most {MAX_ROWS}")


def _list_value_lists(
    plan: EntityPlan, aggregate: AggregatePlan, image: Image
) -> Iterator[tuple[str, ...]]:
    """The groups of an aggregate that contain an image, each with its bucket of a series."""
    bucket: tuple[str, ...] = ()
    if aggregate.series is not None:
        place = find_place(plan, aggregate.series, image)
        if place is None:
            return
        bucket = place
    for within in list_combinations(plan, aggregate.within, image):
        for by in list_combinations(plan, aggregate.by, image):
            yield (*within, *by, *bucket)
