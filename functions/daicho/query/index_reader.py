"""Posting lists (GSI2: listings and searches), read from the table for `daicho.search.pager`.

Index rows lag behind the items. An item that a row names is shown if it is in the list now. If the
rows copy all wanted fields, the rows themselves are shown. Reversed lists are read forward, and
their rows get inverted orders.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple, TypeVar

from daicho.derive import derived_items
from daicho.items.mapper import UNREADABLE
from daicho.layout import item_keys
from daicho.layout.base_item import DAMAGE, is_expired
from daicho.plan import EntityPlan, Ledger, ListingPlan, NewerGenerationError, SearchPlan
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.metrics import emit_damage
from daicho.search import grams
from daicho.search.grams import Keyword
from daicho.search.pager import FetchedItems
from daicho.search.posting_lists import (
    TOP,
    Block,
    PendingRead,
    PostingRow,
    invert_order,
    restore_order,
)
from daicho.storage import attributes, keys
from daicho.storage.attributes import EMPTY_SORT_KEY, Image
from daicho.storage.capacity import READ_UNIT_BYTES
from daicho.storage.requests import KeyRange, Query
from daicho.storage.table import Table

logger = logging.getLogger(__name__)
INDEX = "GSI2"
ORDER = f"{INDEX}SK"
NumberedDeclaration = TypeVar("NumberedDeclaration", ListingPlan, SearchPlan)


@dataclass(frozen=True)
class ListingPredicate:
    """A listing, with the values of the query."""

    listing: ListingPlan
    parts: tuple[str, ...]

    def matches(self, plan: EntityPlan, image: Image, order: str) -> bool:
        """Whether the image is listed under these values, at this order."""
        own = _find_declaration(plan.derived_listings, self.listing)
        if own is None or self.parts not in set(
            derived_items.list_listing_partitions(plan, own, image)
        ):
            return False
        return item_keys.render_order_key(plan, image, own.order) == order


@dataclass(frozen=True)
class RelatedMatches:
    """Items that a search reaches through a field: for each term, the ids of matching names."""

    field: str
    ids_by_term: tuple[frozenset[str], ...]


@dataclass(frozen=True)
class SearchPredicate:
    """A search, with the keyword of the query, and the items that it reaches."""

    search: SearchPlan
    keyword: Keyword
    related_matches: tuple[RelatedMatches, ...] = ()

    def matches(self, plan: EntityPlan, image: Image, order: str) -> bool:
        """Whether the image matches now, and has this order."""
        own = _find_declaration(plan.derived_searches, self.search)
        if own is None or item_keys.render_order_key(plan, image, item_keys.NEWEST) != order:
            return False
        term_matches = [False] * len(self.keyword.terms)
        for related in self.related_matches:
            members = item_keys.list_references(image, related.field)
            for place, ids in enumerate(related.ids_by_term):
                term_matches[place] = term_matches[place] or not members.isdisjoint(ids)
        if self.keyword.is_match(term_matches):
            return True  # by related items, or of a list of all: no field needs to be analysed
        own_matches = self.keyword.match_terms(grams.compute_field_forms(own, image))
        for place, is_match in enumerate(own_matches):
            term_matches[place] = term_matches[place] or is_match
        return self.keyword.is_match(term_matches)


ListPredicate = ListingPredicate | SearchPredicate
"""A listing or a search with its arguments: whether it contains an image at an order.

The plan that it gets is that of the image's generation.
"""


class RowKey(NamedTuple):
    """What identifies the item of an index row: its partition key, and its copy if it is read."""

    partition: str
    copy: str = ""


@dataclass(frozen=True)
class IndexReader:
    """Reads the lists of one entity.

    ``now`` is in epoch seconds. ``parallelism`` is the number of parallel requests. ``is_copied``:
    the rows contain all wanted fields. Then no item is read, and the values are as old as the rows.
    ``is_reversed``: the lists are read lowest first.
    """

    table: Table
    ledger: Ledger
    entity: str
    predicates: Sequence[ListPredicate]
    now: int
    parallelism: int
    is_copied: bool = False
    is_reversed: bool = False

    def read_blocks(self, requests: Sequence[PendingRead]) -> Sequence[Block]:
        """A block of each of these lists."""
        if len(requests) == 1 or self.parallelism == 1:
            return [self._read_block(request) for request in requests]
        with ThreadPoolExecutor(min(self.parallelism, len(requests))) as pool:
            return list(pool.map(self._read_block, requests))

    def fetch(self, keys: Sequence[RowKey], *, consistent: bool) -> FetchedItems[RowKey, Image]:
        """The items of index rows: read by their partition keys, or the copies in the rows."""
        if self.is_copied:
            return FetchedItems({key: _read_copy(key) for key in keys}, requests=0)
        bases = {item_keys.parse_derived_partition(key.partition): key for key in keys}
        batch = self.table.batch_get(bases, consistent=consistent, is_partial=True)
        return FetchedItems(
            {bases[base]: image for base, image in batch.items.items()},
            frozenset(bases[base] for base in batch.unprocessed),
        )

    def matches(self, item: Image, order: str) -> bool:
        """Whether an item is in one of the lists now, at this order."""
        if is_expired(item, self.now):
            return False
        if self.is_copied:
            return True
        listed_order = restore_order(order) if self.is_reversed else order
        try:
            plan = self._find_plan(item)
            return any(predicate.matches(plan, item, listed_order) for predicate in self.predicates)
        except UNREADABLE:
            # No code can compute whether it is in the list. It is a candidate because of its rows,
            # so it is passed on to whoever shows the page, and reports what cannot be read.
            return True

    def estimate_units(self, item: Image | None, *, consistent: bool) -> float:
        """Read units of one item, or of a read that finds no item."""
        if self.is_copied:
            return 0.0
        size = attributes.measure_image(item) if item else 1
        return -(-size // READ_UNIT_BYTES) * (1.0 if consistent else 0.5)

    def _find_plan(self, item: Image) -> EntityPlan:
        try:
            return self.ledger.find_plan(self.entity, attributes.get_integer(item, "gen") or 0)
        except NewerGenerationError:
            # Newer code wrote the item: the newest plan here is the closest one.
            return self.ledger.current_generation(self.entity).plan

    def _read_block(self, request: PendingRead) -> Block:
        bounds, excluded = request.range, None
        if request.bound != TOP:
            order, inclusive = request.bound
            order = restore_order(order) if self.is_reversed else order
            rest = KeyRange(low=order) if self.is_reversed else KeyRange(high=order)
            bounds, excluded = bounds.intersect(rest), None if inclusive else order
        if bounds.is_empty:
            return Block([])
        limit = request.limit
        if self.is_copied:  # a row is as large as an item
            limit = min(limit, self.table.budget.count_items(consistent=False, is_page=True))
        query = Query(
            request.list, INDEX, forward=self.is_reversed, limit=limit, start=request.more
        )
        if bounds.high and not bounds.low and (bounds.is_open or excluded == bounds.high):
            query = replace(query, below=bounds.high)
        else:
            query = replace(query, low=bounds.low or None, high=bounds.high or None)
        page = self.table.query(query)
        rows = [
            PostingRow(
                invert_order(order) if self.is_reversed else order,
                self._get_row_key(row),
                *(_get_position(row) if request.rests else ()),
            )
            for row in self._list_placed(page.items, request.list)
            # A condition with two ends includes both of them. No row is at the open end of a range,
            # because the key of the item follows in its order.
            if (order := row[ORDER]["S"]) != excluded
        ]
        return Block(rows, page.last, page.units)

    def _list_placed(self, rows: Sequence[Image], list_key: str) -> list[Image]:
        """The rows that are in the list of which they are, with the key fields of their items.

        One write puts all of a row, so one that lags is as consistent as any. Others are logged.
        """
        placed = []
        name, *parts = list_key.split(keys.DELIMITER)[1:]
        head = [name.removeprefix(f"{self.entity}."), *parts]
        is_search = isinstance(self.predicates[0], SearchPredicate)
        whole = keys.DELIMITER.join(head[:3] if is_search else head)
        others = () if is_search else (keys.DELIMITER.join(head[:-1]),)  # the last may be a shard
        key = self.ledger.current_generation(self.entity).plan.key
        for row in rows:
            own, (_, _, behind, sk) = row["SK"]["S"], row["PK"]["S"].split(keys.DELIMITER)
            fields = [keys.unescape(behind)] if key.partition else []
            if key.shards is not None and fields:
                fields = [fields[0].rpartition(keys.DELIMITER)[0]]
            fields += [keys.unescape(sk)] if key.sort else []
            is_of_list = own == whole or own in others
            is_of_list |= is_search and own.startswith(f"{whole}{keys.DELIMITER}")
            end = keys.DELIMITER.join(("", *fields))
            if is_of_list and f"{keys.DELIMITER}{row[ORDER]['S']}".endswith(end):
                placed.append(row)
            else:
                logger.error("an index row is in a wrong list: %s in %s", row["PK"]["S"], list_key)
        if len(placed) < len(rows):
            emit_damage(len(rows) - len(placed))
        return placed

    def _get_row_key(self, row: Image) -> RowKey:
        partition = row["PK"]["S"]
        if self.is_copied:
            return RowKey(partition, attributes.get_text(row, derived_items.COPY_ATTRIBUTE) or "")
        return RowKey(partition)


def _read_copy(key: RowKey) -> Image:
    """The copy in a row, with the partition of the row."""
    row: Image = {"PK": {"S": key.partition}, "SK": {"S": EMPTY_SORT_KEY}}
    try:
        return {**row, **derived_items.read_copy(key.copy)}
    except (TypeError, ValueError):
        return {**row, DAMAGE: {"S": "its row in the index has no copy of it"}}


def _get_position(row: Image) -> tuple[str, ...]:
    # The sort key of a posting has its declaration, its generation, its gram, the text after the
    # gram, and the mark of a designator before it.
    return keys.parse(row["SK"]["S"])[3:]


def _find_declaration(
    declarations: Iterable[NumberedDeclaration], wanted: NumberedDeclaration
) -> NumberedDeclaration | None:
    matching = (
        declaration
        for declaration in declarations
        if (declaration.name, declaration.since) == (wanted.name, wanted.since)
    )
    return next(matching, None)
