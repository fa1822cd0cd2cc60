"""Items that a search reaches through a field: the contacts of a category, by the category's name.

Names are matched in memory over the tenant's items of that entity. These are few (a thousand), so a
new name rewrites no other item. A listing contains the items that belong to a matching item. A user
who types sends a query for the same names at every key. If books share a item_cache, each function
instance reads the names once in two seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from daicho.layout import item_keys
from daicho.layout.base_item import is_expired
from daicho.layout.migrations import read_migrated
from daicho.plan import (
    AggregatePlan,
    EntityPlan,
    Ledger,
    ListingPlan,
    Part,
    SearchPlan,
    ThroughPlan,
)
from daicho.query.index_reader import RelatedMatches
from daicho.search import grams
from daicho.search.grams import Keyword
from daicho.search.normalise import compute_readings
from daicho.search.posting_lists import PostingCursor, PostingList
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.item_cache import COLLECTION, ItemCache
from daicho.storage.requests import Query
from daicho.storage.table import Table
from daicho.tally.reader import read_rolled_up_amount

MAX_MERGED = 64
"""Up to this number of lists are always merged. For more, the cost decides."""

NAMES_CACHE_S = 2.0
"""The maximum age of names. A search may match an old name for this time after a change."""

UNITS_PER_LIST = 0.5
UNITS_PER_CHECK = 1.0
"""The units of a row that matches only if its item does, so the item must be read."""


@dataclass
class RelatedSearch:
    """Finds the items that keywords reach. ``units`` are the read units so far.

    ``item_cache``: a cache that other requests share, if any.
    """

    table: Table
    ledger: Ledger
    tenant: str
    now: int
    item_cache: ItemCache | None = None
    units: float = 0.0
    requests: int = 0

    def find_matching_ids(self, search: SearchPlan, keyword: Keyword) -> tuple[RelatedMatches, ...]:
        """For each field that the search goes through, the ids whose names match each term."""
        if not keyword.terms:
            return ()
        return tuple([self._match_names(search, through, keyword) for through in search.through])

    def build_cursors(
        self,
        plan: EntityPlan,
        through: ThroughPlan,
        listing: ListingPlan,
        ids: frozenset[str],
        limit: int,
    ) -> list[PostingCursor] | None:
        """The lists of these ids; None if reading all items is cheaper."""
        if len(ids) > MAX_MERGED and self._is_cheaper_to_read_all(plan, through, ids, limit):
            return None
        sharded_parts = [((id,), shard) for id in sorted(ids) for shard in range(listing.shards)]
        return [
            PostingList(partition)
            for partition in item_keys.render_listing_lists(
                self.tenant, plan, listing, sharded_parts
            )
        ]

    def _match_names(
        self, search: SearchPlan, through: ThroughPlan, keyword: Keyword
    ) -> RelatedMatches:
        ids_by_term: list[set[str]] = [set() for _ in keyword.terms]
        for id, fields in self._list_all(through.entity).items():
            name = attributes.get_text(fields["M"], through.name)
            if not name:
                continue
            texts = compute_readings(name, search.get_through_rules(through))
            forms = [form for text in texts for form in grams.compute_forms(text, search.mode)]
            for ids, term in zip(ids_by_term, keyword.terms, strict=True):
                if term.is_prefix_of(forms):
                    ids.add(id)
        return RelatedMatches(through.field, tuple(map(frozenset, ids_by_term)))

    def _list_all(self, entity: str) -> Image:
        """The texts of a tenant's items of an entity with one collection, by id."""
        key = ItemKey(keys.render(self.tenant, entity), COLLECTION)
        if self.item_cache is None:
            return self._read_names(entity, key.pk)
        read = partial(self._read_names, entity, key.pk)
        return self.item_cache.get(key, NAMES_CACHE_S, read) or {}

    def _read_names(self, entity: str, partition: str) -> Image:
        texts_by_id: dict[str, dict[str, Any]] = {}
        for page in self.table.query_pages(Query(partition)):
            self.units += page.units
            self.requests += 1
            for image in page.items:
                if not is_expired(image, self.now):
                    (id,) = keys.parse(image["SK"]["S"])
                    migrated = read_migrated(self.ledger, entity, image)
                    texts = {name: value for name, value in migrated.items() if "S" in value}
                    texts_by_id[id] = {"M": texts}
        return texts_by_id

    def _is_cheaper_to_read_all(
        self, plan: EntityPlan, through: ThroughPlan, ids: frozenset[str], limit: int
    ) -> bool:
        members, count = _render_tallies(plan, through)
        if members is None or count is None:
            return False
        total = item_keys.render_tally_partition(self.tenant, plan, count, (), ())
        item_count = read_rolled_up_amount(self.table, total).items
        member_count = self._count_members(plan, members, ids)
        self.units += 0.5
        self.requests += 1
        if not item_count:
            return False  # not rolled up yet: the count is unknown
        rows_to_check = limit * max(1.0, item_count / max(1, member_count))
        return rows_to_check * UNITS_PER_CHECK < len(ids) * UNITS_PER_LIST

    def _count_members(self, plan: EntityPlan, members: AggregatePlan, ids: frozenset[str]) -> int:
        """How many memberships these ids have, by one query of their ranking."""
        count = 0
        for ranking in item_keys.list_ranking_partitions(self.tenant, plan, members, ()):
            for page in self.table.query_pages(Query(ranking, "GSI3")):
                self.units += page.units
                self.requests += 1
                for row in page.items:
                    if keys.parse(row["GSI3SK"]["S"])[1] in ids:
                        count += int(attributes.parse_number(row["total"]["N"]))
        return count


def _render_tallies(
    plan: EntityPlan, through: ThroughPlan
) -> tuple[AggregatePlan | None, AggregatePlan | None]:
    """The ranked count of each id's items, and the count of all."""
    counts = [
        aggregate
        for aggregate in plan.aggregates
        if aggregate.measure == "count" and aggregate.where is None
    ]
    part = {(Part(through.field, each=True),), (Part(through.field),)}
    members = (
        aggregate
        for aggregate in counts
        if aggregate.ranked and not aggregate.within and aggregate.by in part
    )
    everything = (aggregate for aggregate in counts if not aggregate.by and not aggregate.within)
    return next(members, None), next(everything, None)
