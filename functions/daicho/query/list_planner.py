"""Lists: from a question to the item collections that answer it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from daicho.declare.entity import Entity
from daicho.declare.queries import ListQuery
from daicho.errors import Invalid, NotFound, refuse
from daicho.items.arguments import (
    check_key_length,
    render_fields,
    render_parts,
    to_attribute_values,
)
from daicho.layout import item_keys
from daicho.plan import EntityPlan, Ledger, ListingPlan, SearchPlan, list_key_fields
from daicho.query.collection_reader import CollectionSource
from daicho.query.index_reader import (
    ListingPredicate,
    ListPredicate,
    RelatedMatches,
    SearchPredicate,
)
from daicho.query.key_resolver import KeyResolver
from daicho.query.related_search import RelatedSearch, union_of
from daicho.search import analyzer
from daicho.search.grams import EVERYTHING, HOT_GRAM, Probe
from daicho.search.keyword import Keyword, KeywordError, Term
from daicho.search.posting_lists import Intersection, PostingCursor, PostingList, list_leaves
from daicho.search.sparsest_list import SparsestOf
from daicho.storage import keys

MAX_LISTS = 100


@dataclass
class ListPlan:
    """The lists that answer one or more questions: direct ones, or streams of postings.

    ``question`` tells these questions from all others: it is what a cursor is bound to.
    """

    entity: type[Entity]
    limit: int
    direct: list[CollectionSource] = field(default_factory=list)
    streams: list[PostingCursor] = field(default_factory=list)
    predicates: list[ListPredicate] = field(default_factory=list)
    question: tuple[str, ...] = ()

    def build_cursor(self) -> PostingCursor:
        """All of them as one, each with the first block that a page of the limit needs."""
        alone = [each for each in self.streams if isinstance(each, PostingList)]
        block = (self.limit + max(2, self.limit // 10)) // max(1, len(alone))
        for each in alone:
            each.first = max(each.first, block)
        for stream in self.streams:
            if len(self.streams) == 1 and isinstance(stream, PostingList | SparsestOf):
                for each in list_leaves(stream):
                    each.alone = True
        return union_of(self.streams)


@dataclass(frozen=True)
class ListPlanner:
    """Finds the lists of a tenant's questions."""

    places: KeyResolver
    ledger: Ledger
    tenant: str
    reach: RelatedSearch
    now: dt.datetime

    def plan(self, many: Sequence[ListQuery[Any]], limit: int) -> ListPlan:
        """The lists of questions that are to be merged.

        Raises:
            TypeError: lists that have no common order.
            Invalid: over 100 of them, or a value that a field does not take.
        """
        if not many:
            raise TypeError("a page is of one list at least")
        if len(many) > MAX_LISTS:
            raise Invalid(f"{len(many)} lists would have to be merged; at most {MAX_LISTS}")
        entity = many[0].entity
        plan = self.ledger.current_generation(entity.__name__).plan
        found = ListPlan(entity, limit)
        if any(each.entity is not entity for each in many):
            raise TypeError("lists of one entity can be merged")
        orders = {self._plan_list(plan, each, found) for each in dict.fromkeys(many)}
        if len(orders) > 1:
            raise TypeError(f"lists of {entity.__name__} that are ordered alike can be merged")
        return found

    def _plan_list(self, plan: EntityPlan, many: ListQuery[Any], found: ListPlan) -> object:
        found.question += (many.by, many.name)
        if many.window is not None:
            found.question += (str(many.window),)
        match many.by:
            case "partition" | "under":
                sources = self._plan_partition(plan, many)
            case "inverse":
                sources = [self._plan_inverse(plan, many)]
            case "listing":
                listing = next(each for each in plan.listings if each.name == many.name)
                return self._plan_listing(plan, listing, many, found)
            case "search":
                search = next(each for each in plan.searches if each.name == many.name)
                return self._plan_search(plan, search, many, found)
        found.direct += sources
        found.question += tuple(source.partition for source in sources)
        found.question += tuple(source.prefix for source in sources if source.prefix)
        return "partition" if many.by == "under" else many.by

    def _plan_partition(self, plan: EntityPlan, many: ListQuery[Any]) -> list[CollectionSource]:
        """The shards of a collection, or of all in it whose sort key begins as is asked."""
        names = list_key_fields(plan)[: len(many.parts)]
        given = to_attribute_values(many.entity, zip(names, many.parts, strict=True))
        texts = render_fields(plan, names, given)
        inside = len(plan.key.partition)
        texts, under = texts[:inside], texts[inside:]
        whole = len(under) == len(plan.key.sort)
        prefix = "" if not under else keys.render(*under) if whole else keys.render_prefix(*under)
        if prefix:
            check_key_length(names[-1], prefix, keys.check_sort)
        floor = self._compute_floor(plan, many, plan.key.sort[len(under) :])
        shards = self.places.resolve_shards(many.entity, plan, given)
        if shards is None:
            raise NotFound(f"no such collection of {plan.name}")
        name = many.name if not plan.key.partition else plan.key.partition[-1]
        head = (self.tenant, plan.name, *texts)
        partitions = [keys.render(*head, each) for each in shards] or [keys.render(*head)]
        return [
            CollectionSource(
                check_key_length(name, each, keys.check_partition),
                prefix=prefix,
                whole=whole and bool(prefix),
                floor=prefix + floor if floor else "",
            )
            for each in partitions
        ]

    def _compute_floor(self, plan: EntityPlan, many: ListQuery[Any], order: Sequence[str]) -> str:
        """Where the part of a list that is younger than its window begins; "" without one."""
        if many.window is None:
            return ""
        if not order or not (order[0] == "created_at" or plan.fields.get(order[0]) == "datetime"):
            raise TypeError(f"{many.name} of {plan.name} is not ordered by an instant")
        return keys.escape(keys.render_instant(self.now - many.window))

    def _plan_inverse(self, plan: EntityPlan, many: ListQuery[Any]) -> CollectionSource:
        given = to_attribute_values(many.entity, zip(plan.key.sort, many.parts, strict=True))
        texts = render_fields(plan, plan.key.sort, given)
        partition = keys.render(self.tenant, plan.name, *texts)
        return CollectionSource(
            check_key_length(plan.key.sort[-1], partition, keys.check_partition), "GSI1"
        )

    def _plan_listing(
        self, plan: EntityPlan, listing: ListingPlan, many: ListQuery[Any], found: ListPlan
    ) -> object:
        parts = render_parts(many.entity, plan, listing.partition, many.parts)
        name = listing.partition[-1].field if listing.partition else listing.name
        floor = self._compute_floor(plan, many, listing.order)
        for shard in range(listing.shards):
            partition = item_keys.render_listing_list(self.tenant, plan, listing, parts, shard)
            checked = check_key_length(name, partition, keys.check_partition)
            found.streams.append(PostingList(checked, floor=floor))
        found.predicates.append(ListingPredicate(listing, parts))
        found.question += (str(listing.since), *parts)
        return listing.order

    def _plan_search(
        self, plan: EntityPlan, search: SearchPlan, many: ListQuery[Any], found: ListPlan
    ) -> object:
        (text,) = many.parts
        try:
            keyword = Keyword.parse(text, search.kinds)
        except KeywordError as error:
            raise refuse(400 if error.malformed else 422, str(error), field="q") from error
        reached = self.reach.matching_ids(search, keyword)
        found.predicates.append(SearchPredicate(search, keyword, reached))
        if keyword.lists_all:
            found.streams += self._plan_gram(plan, search, Probe(EVERYTHING))
        if keyword.whole:
            found.streams += self._plan_term(plan, search, keyword.whole, 0, reached, found.limit)
        if keyword.words:
            words = [
                self._plan_term(plan, search, term, place, reached, found.limit)
                for place, term in enumerate(keyword.words, start=1)
            ]
            found.streams.append(Intersection([union_of(each) for each in words]))
        found.question += (str(search.since), str(keyword.lists_all))
        found.question += tuple(each for term in keyword.terms for each in ("", *term.meanings))
        return item_keys.NEWEST

    def _plan_term(
        self,
        plan: EntityPlan,
        search: SearchPlan,
        term: Term,
        place: int,
        reached: Sequence[RelatedMatches],
        limit: int,
    ) -> list[PostingCursor]:
        """The lists that hold all matches of one term, the ``place``-th of its keyword."""
        lists: list[PostingCursor] = []
        for alternatives in term.compute_probes(analyzer.get_steps(search)):
            streams = [union_of(self._plan_gram(plan, search, probe)) for probe in alternatives]
            lists.append(streams[0] if len(streams) == 1 else SparsestOf(streams))
        for through, each in zip(search.through, reached, strict=True):
            belonging = self.reach.build_cursors(plan, through, each.matches_by_probe[place], limit)
            if belonging is None:
                return self._plan_gram(plan, search, Probe(EVERYTHING), certain=False)
            lists += belonging
        return lists

    def _plan_gram(
        self, plan: EntityPlan, search: SearchPlan, probe: Probe, *, certain: bool = True
    ) -> list[PostingCursor]:
        """The list of one gram, over its shards."""
        shards = search.shards if len(probe.gram) <= HOT_GRAM else 1
        lists = (
            item_keys.render_gram_list(self.tenant, plan, search, probe.gram, s)
            for s in range(shards)
        )
        return [
            PostingList(each, probe.rest, certain, mark=probe.mark, inside=probe.inside)
            for each in lists
        ]
