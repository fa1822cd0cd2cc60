"""Posting lists (GSI2: listings and searches), read from the table for `daicho.search.pager`.

Index rows lag behind the items. An item that a row names is shown if it is in the list now. If the
rows copy all wanted fields, the rows themselves are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from daicho.derive import derived_items, index_row
from daicho.layout import components, item_keys
from daicho.layout.base_item import is_expired
from daicho.plan import EntityPlan, Ledger, ListingPlan, NewerGenerationError, SearchPlan
from daicho.search import analyzer
from daicho.search.keyword import Keyword
from daicho.search.pager import FetchedItems
from daicho.search.posting_lists import TOP, Block, PendingRead, PostingRow
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.storage.requests import Query
from daicho.storage.table import Table

INDEX = "GSI2"
ORDER = f"{INDEX}SK"
UNIT_BYTES = 4096
NumberedDeclaration = TypeVar("NumberedDeclaration", ListingPlan, SearchPlan)


class ListPredicate(Protocol):
    """A listing or a search with its arguments: whether it contains an image at an order."""

    def matches(self, plan: EntityPlan, image: Image, order: str) -> bool:
        """``plan`` is that of the image's generation."""


@dataclass(frozen=True)
class ListingPredicate:
    """A listing, with the values of the query."""

    listing: ListingPlan
    parts: tuple[str, ...]

    def matches(self, plan: EntityPlan, image: Image, order: str) -> bool:
        """Whether the image is listed under these values, at this order."""
        own = _find_declaration(plan.listings, self.listing)
        if own is None or self.parts not in set(
            derived_items.list_listing_partitions(plan, own, image)
        ):
            return False
        return item_keys.render_order_key(plan, image, own.order) == order


@dataclass(frozen=True)
class RelatedMatches:
    """Items that a search reaches through a field: for each term, the items with matching names."""

    field: str
    matches_by_probe: tuple[frozenset[str], ...]


@dataclass(frozen=True)
class SearchPredicate:
    """A search, with the keyword of the query, and the items that it reaches."""

    search: SearchPlan
    keyword: Keyword
    reached: tuple[RelatedMatches, ...] = ()

    def matches(self, plan: EntityPlan, image: Image, order: str) -> bool:
        """Whether the image matches now, and has this order."""
        own = _find_declaration(plan.searches, self.search)
        if own is None or item_keys.render_order_key(plan, image, item_keys.NEWEST) != order:
            return False
        forms = analyzer.compute_field_forms(own, image)
        term_matches = [term.is_prefix_of(forms) for term in self.keyword.terms]
        for related_matches in self.reached:
            members = components.list_references(image, related_matches.field)
            term_matches = [
                is_match or not members.isdisjoint(ids)
                for is_match, ids in zip(
                    term_matches, related_matches.matches_by_probe, strict=True
                )
            ]
        return self.keyword.is_contained_in(term_matches)


@dataclass(frozen=True)
class IndexReader:
    """Reads the lists of one entity.

    ``now`` is in epoch seconds. ``at_once`` is the number of parallel requests. ``copied``: the
    rows contain all wanted fields. Then no item is read, and the values are as old as the rows.
    """

    table: Table
    ledger: Ledger
    entity: str
    predicates: Sequence[ListPredicate]
    now: int
    at_once: int
    copied: bool = False

    def read_blocks(self, wanted: Sequence[PendingRead]) -> Sequence[Block]:
        """A block of each of these lists."""
        if len(wanted) == 1 or self.at_once == 1:
            return [self._read_block(request) for request in wanted]
        with ThreadPoolExecutor(min(self.at_once, len(wanted))) as pool:
            return list(pool.map(self._read_block, wanted))

    def fetch(self, keys: Sequence[Any], *, consistent: bool) -> FetchedItems:
        """The items of index rows: read by their partition keys, or the copies in the rows."""
        if self.copied:
            return FetchedItems({key: index_row.read_copy(key[1]) for key in keys}, requests=0)
        bases = {item_keys.parse_derived_partition(key): key for key in keys}
        batch = self.table.batch_get(bases, consistent=consistent)
        return FetchedItems(
            {bases[base]: image for base, image in batch.items.items()},
            frozenset(bases[base] for base in batch.unprocessed),
        )

    def matches(self, item: Image, order: str) -> bool:
        """Whether an item is in one of the lists now, at this order."""
        if is_expired(item, self.now):
            return False
        if self.copied:
            return True
        plan = find_image_plan(self.ledger, self.entity, item)
        return any(predicate.matches(plan, item, order) for predicate in self.predicates)

    def estimate_units(self, item: Image | None, *, consistent: bool) -> float:
        """Read units of one item, or of a read that finds no item."""
        if self.copied:
            return 0.0
        size = attributes.measure_image(item) if item else 1
        return -(-size // UNIT_BYTES) * (1.0 if consistent else 0.5)

    def _read_block(self, wanted: PendingRead) -> Block:
        query = Query(wanted.list, INDEX, forward=False, limit=wanted.limit, start=wanted.more)
        order, inclusive = wanted.bound
        if wanted.floor:
            if order < wanted.floor:
                return Block([])  # DynamoDB refuses an empty range
            query = replace(query, low=wanted.floor)
            if wanted.bound != TOP:
                query = replace(query, high=order)
        elif wanted.bound != TOP:
            query = replace(query, high=order) if inclusive else replace(query, below=order)
        page = self.table.query(query)
        rows = [
            PostingRow(
                row[ORDER]["S"],
                self._get_base_key(row),
                *(_get_position(row) if wanted.rests else ()),
            )
            for row in page.items
            if wanted.bound.admits(row[ORDER]["S"])
        ]
        return Block(rows, page.last, page.units)

    def _get_base_key(self, row: Image) -> Any:
        owner = row["PK"]["S"]
        return (owner, row[index_row.COPY_ATTRIBUTE]["S"]) if self.copied else owner


def _get_position(row: Image) -> tuple[str, ...]:
    # The sort key of a posting has its declaration, its generation, its gram, the text after the
    # gram, and the mark of a designator before it.
    return keys.parse(row["SK"]["S"])[3:]


def _find_declaration(
    declared: Iterable[NumberedDeclaration], wanted: NumberedDeclaration
) -> NumberedDeclaration | None:
    same = (
        declaration
        for declaration in declared
        if (declaration.name, declaration.since) == (wanted.name, wanted.since)
    )
    return next(same, None)


def find_image_plan(ledger: Ledger, entity: str, image: Image) -> EntityPlan:
    """The plan that derives an image. For an image of newer code it is the newest plan here."""
    try:
        return ledger.find_plan(entity, attributes.get_integer(image, "gen") or 0)
    except NewerGenerationError:
        return ledger.current_generation(entity).plan
