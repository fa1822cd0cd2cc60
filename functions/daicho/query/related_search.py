"""What a search reaches through a field: the contacts of a category, by the category's name.

Names are matched in memory over the tenant's items of that entity, which are few (a thousand), so
that renaming one rewrites nothing. What belongs to an item that matches is a listing of it. Who
types asks for the same names at every key: where books share a memory, each function instance
reads them once in two seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from daicho.layout import item_keys
from daicho.layout.base_item import expired
from daicho.plan import AggregatePlan, EntityPlan, Ledger, Part, SearchPlan, Through
from daicho.query.index_reader import Reached
from daicho.search import grams
from daicho.search.keyword import Keyword
from daicho.search.posting_lists import AnyOf, Posting, Stream
from daicho.search.variants import readings
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.storage.item_cache import COLLECTION, Memory
from daicho.storage.item_key import ItemKey
from daicho.storage.requests import Query
from daicho.storage.table import Table
from daicho.tally.reader import rolled_up_amount

MOST_MERGED = 64
"""So many lists are merged whatever they hold; of more it is asked whether that is cheaper."""

NAMES_SECONDS = 2.0
"""How old names may be: for so long a search may find by a name that was changed elsewhere."""

UNITS_A_LIST = 0.5
UNITS_A_CHECK = 1.0
"""Of a row whose item alone tells whether it matches."""


@dataclass
class Reach:
    """Finds what keywords reach. ``units`` is what it has read.

    ``memory``: one that is shared with other requests, if any.
    """

    table: Table
    ledger: Ledger
    tenant: str
    now: int
    memory: Memory | None = None
    units: float = 0.0
    requests: int = 0

    def reached(self, search: SearchPlan, keyword: Keyword) -> tuple[Reached, ...]:
        """For each field that the search goes through, the ids whose names match each term."""
        if not keyword.terms:
            return ()
        return tuple(self._reached(each, search.mode, keyword) for each in search.through)

    def streams(
        self, plan: EntityPlan, through: Through, ids: frozenset[str], limit: int
    ) -> list[Stream] | None:
        """The lists of these ids; None if it is cheaper to go through all that there is."""
        if len(ids) > MOST_MERGED and self._is_cheaper_to_walk(plan, through, ids, limit):
            return None
        listing = next(each for each in plan.listings if each.name == through.listing)
        return [
            Posting(item_keys.listing_list(self.tenant, plan, listing, (id,), shard))
            for id in sorted(ids)
            for shard in range(listing.shards)
        ]

    def _reached(self, through: Through, mode: grams.Mode, keyword: Keyword) -> Reached:
        found: list[set[str]] = [set() for _ in keyword.terms]
        for id, fields in self._all(through.entity).items():
            name = attributes.text(fields["M"], through.name)
            if not name:
                continue
            texts = readings(name, through.kind)
            forms = [form for text in texts for form in grams.forms(text, mode)]
            for ids, term in zip(found, keyword.terms, strict=True):
                if term.starts(forms):
                    ids.add(id)
        return Reached(through.field, tuple(map(frozenset, found)))

    def _all(self, entity: str) -> Image:
        """The texts of a tenant's items of an entity that stands in one collection, by id."""
        key = ItemKey(keys.render(self.tenant, entity), COLLECTION)
        if self.memory is None:
            return self._read(key.pk)
        return self.memory.get(key, NAMES_SECONDS, lambda: self._read(key.pk)) or {}

    def _read(self, partition: str) -> Image:
        found: dict[str, dict[str, Any]] = {}
        for page in self.table.pages(Query(partition)):
            self.units += page.units
            self.requests += 1
            for image in page.items:
                if not expired(image, self.now):
                    (id,) = keys.parse(image["SK"]["S"])
                    texts = {name: value for name, value in image.items() if "S" in value}
                    found[id] = {"M": texts}
        return found

    def _is_cheaper_to_walk(
        self, plan: EntityPlan, through: Through, ids: frozenset[str], limit: int
    ) -> bool:
        members, count = _tallies(plan, through)
        if members is None or count is None:
            return False
        total = item_keys.tally_partition(self.tenant, plan, count, (), ())
        everything = rolled_up_amount(self.table, total).items
        belonging = self._belonging(plan, members, ids)
        self.units += 0.5
        self.requests += 1
        if not everything:
            return False  # not rolled up yet: nobody knows
        walked = limit * max(1.0, everything / max(1, belonging))
        return walked * UNITS_A_CHECK < len(ids) * UNITS_A_LIST

    def _belonging(self, plan: EntityPlan, members: AggregatePlan, ids: frozenset[str]) -> int:
        """How many memberships these ids have, by one query of their ranking."""
        found = 0
        for ranking in item_keys.ranking_partitions(self.tenant, plan, members, ()):
            for page in self.table.pages(Query(ranking, "GSI3")):
                self.units += page.units
                self.requests += 1
                for row in page.items:
                    if keys.parse(row["GSI3SK"]["S"])[1] in ids:
                        found += int(attributes.number(row["total"]["N"]))
        return found


def merged(streams: Sequence[Stream]) -> Stream:
    """One stream of several."""
    return streams[0] if len(streams) == 1 else AnyOf(streams)


def _tallies(
    plan: EntityPlan, through: Through
) -> tuple[AggregatePlan | None, AggregatePlan | None]:
    """The ranked count of each id's items, and the count of all."""
    counts = [each for each in plan.aggregates if each.measure == "count" and each.where is None]
    part = {(Part(through.field, each=True),), (Part(through.field),)}
    members = (each for each in counts if each.ranked and not each.within and each.by in part)
    everything = (each for each in counts if not each.by and not each.within)
    return next(members, None), next(everything, None)
