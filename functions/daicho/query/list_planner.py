"""Lists: finds the item collections that answer a question."""

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
    parse_arguments,
    render_fields,
    render_parts,
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

    ``question`` identifies these questions. A cursor is bound to it.
    """

    entity: type[Entity]
    limit: int
    direct: list[CollectionSource] = field(default_factory=list)
    streams: list[PostingCursor] = field(default_factory=list)
    predicates: list[ListPredicate] = field(default_factory=list)
    question: tuple[str, ...] = ()

    def build_cursor(self) -> PostingCursor:
        """All streams as one. The first block of each has the size that the page limit needs."""
        alone = [cursor for cursor in self.streams if isinstance(cursor, PostingList)]
        block = (self.limit + max(2, self.limit // 10)) // max(1, len(alone))
        for posting_list in alone:
            posting_list.first = max(posting_list.first, block)
        for stream in self.streams:
            if len(self.streams) == 1 and isinstance(stream, PostingList | SparsestOf):
                for leaf in list_leaves(stream):
                    leaf.alone = True
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
            TypeError: the lists have no common order.
            Invalid: there are over 100 lists, or a field does not accept a value.
        """
        if not many:
            raise TypeError("a page is of one list at least")
        if len(many) > MAX_LISTS:
            raise Invalid(f"{len(many)} lists would have to be merged; at most {MAX_LISTS}")
        entity = many[0].entity
        plan = self.ledger.current_generation(entity.__name__).plan
        list_plan = ListPlan(entity, limit)
        if any(query.entity is not entity for query in many):
            raise TypeError("lists of one entity can be merged")
        orders = {self._plan_list(plan, query, list_plan) for query in dict.fromkeys(many)}
        if len(orders) > 1:
            raise TypeError(f"lists of {entity.__name__} that are ordered alike can be merged")
        return list_plan

    def _plan_list(self, plan: EntityPlan, many: ListQuery[Any], list_plan: ListPlan) -> object:
        list_plan.question += (many.by, many.name)
        if many.window is not None:
            list_plan.question += (str(many.window),)
        match many.by:
            case "partition" | "under":
                sources = self._plan_partition(plan, many)
            case "inverse":
                sources = [self._plan_inverse(plan, many)]
            case "listing":
                listing = next(
                    declaration for declaration in plan.listings if declaration.name == many.name
                )
                return self._plan_listing(plan, listing, many, list_plan)
            case "search":
                search = next(
                    declaration for declaration in plan.searches if declaration.name == many.name
                )
                return self._plan_search(plan, search, many, list_plan)
        list_plan.direct += sources
        list_plan.question += tuple(source.partition for source in sources)
        list_plan.question += tuple(source.prefix for source in sources if source.prefix)
        return "partition" if many.by == "under" else many.by

    def _plan_partition(self, plan: EntityPlan, many: ListQuery[Any]) -> list[CollectionSource]:
        """The shards of a collection, or of the part whose sort keys have the given beginning."""
        names = list_key_fields(plan)[: len(many.parts)]
        given = parse_arguments(many.entity, names, many.parts)
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
        partitions = [keys.render(*head, shard) for shard in shards] or [keys.render(*head)]
        return [
            CollectionSource(
                check_key_length(name, partition, keys.check_partition),
                prefix=prefix,
                whole=whole and bool(prefix),
                floor=prefix + floor if floor else "",
            )
            for partition in partitions
        ]

    def _compute_floor(self, plan: EntityPlan, many: ListQuery[Any], order: Sequence[str]) -> str:
        """The order at which the window of a list begins; "" without a window."""
        if many.window is None:
            return ""
        if not order or not (order[0] == "created_at" or plan.fields.get(order[0]) == "datetime"):
            raise TypeError(f"{many.name} of {plan.name} is not ordered by an instant")
        return keys.escape(keys.render_instant(self.now - many.window))

    def _plan_inverse(self, plan: EntityPlan, many: ListQuery[Any]) -> CollectionSource:
        given = parse_arguments(many.entity, plan.key.sort, many.parts)
        texts = render_fields(plan, plan.key.sort, given)
        partition = keys.render(self.tenant, plan.name, *texts)
        return CollectionSource(
            check_key_length(plan.key.sort[-1], partition, keys.check_partition), "GSI1"
        )

    def _plan_listing(
        self, plan: EntityPlan, listing: ListingPlan, many: ListQuery[Any], list_plan: ListPlan
    ) -> object:
        parts = render_parts(many.entity, plan, listing.partition, many.parts)
        name = listing.partition[-1].field if listing.partition else listing.name
        floor = self._compute_floor(plan, many, listing.order)
        for shard in range(listing.shards):
            partition = item_keys.render_listing_list(self.tenant, plan, listing, parts, shard)
            checked = check_key_length(name, partition, keys.check_partition)
            list_plan.streams.append(PostingList(checked, floor=floor))
        list_plan.predicates.append(ListingPredicate(listing, parts))
        list_plan.question += (str(listing.since), *parts)
        return listing.order

    def _plan_search(
        self, plan: EntityPlan, search: SearchPlan, many: ListQuery[Any], list_plan: ListPlan
    ) -> object:
        (text,) = many.parts
        try:
            keyword = Keyword.parse(text, search.kinds)
        except KeywordError as error:
            raise refuse(400 if error.malformed else 422, str(error), field="q") from error
        reached = self.reach.matching_ids(search, keyword)
        list_plan.predicates.append(SearchPredicate(search, keyword, reached))
        if keyword.lists_all:
            list_plan.streams += self._plan_gram(plan, search, Probe(EVERYTHING))
        if keyword.whole:
            list_plan.streams += self._plan_term(
                plan, search, keyword.whole, 0, reached, list_plan.limit
            )
        if keyword.words:
            words = [
                self._plan_term(plan, search, term, place, reached, list_plan.limit)
                for place, term in enumerate(keyword.words, start=1)
            ]
            list_plan.streams.append(Intersection([union_of(cursors) for cursors in words]))
        list_plan.question += (str(search.since), str(keyword.lists_all))
        list_plan.question += tuple(
            meaning for term in keyword.terms for meaning in ("", *term.meanings)
        )
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
        for through, related_matches in zip(search.through, reached, strict=True):
            belonging = self.reach.build_cursors(
                plan, through, related_matches.matches_by_probe[place], limit
            )
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
            PostingList(partition, probe.rest, certain, mark=probe.mark, inside=probe.inside)
            for partition in lists
        ]
