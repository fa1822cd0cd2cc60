"""Plans list queries: chooses the item collections and posting lists that answer them.

An *item collection* is the items of one partition key, in the table or in GSI1. A *posting list* is
a partition of GSI2: the rows of one value of a listing, or of one gram of a search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from daicho.declare.entity import Entity
from daicho.declare.queries import ListQuery
from daicho.declare.rules.declared_places import list_scale_attributes
from daicho.declare.searches import DEFAULT_PARAMETER
from daicho.errors import Invalid, NotFound, refuse
from daicho.items.arguments import check_key_length, parse_arguments, render_fields, render_parts
from daicho.items.projection import list_inherited_names
from daicho.layout import item_keys
from daicho.plan import EntityPlan, ListingPlan, SearchPlan, ThroughPlan
from daicho.query.collection_reader import CollectionSource
from daicho.query.index_reader import (
    ListingPredicate,
    ListPredicate,
    RelatedMatches,
    SearchPredicate,
)
from daicho.query.instance_chooser import InstanceChooser
from daicho.query.key_resolver import KeyResolver
from daicho.query.list_range import ListOrder
from daicho.query.related_search import RelatedSearch
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.search import grams
from daicho.search.grams import EVERYTHING, HOT_GRAM, Keyword, KeywordError, Probe, Term
from daicho.search.posting_lists import (
    Intersection,
    PostingCursor,
    PostingList,
    SparsestOf,
    list_leaves,
    union_of,
)
from daicho.storage import keys
from daicho.storage.requests import KeyRange

MAX_LISTS = 100


@dataclass
class ListPlan:
    """The lists that answer one or more queries: item collections, or cursors of posting lists.

    The result is the union of all of them. ``predicates`` check an item that a posting names.
    ``copied_names`` has the attributes that the rows copy, for each listing.
    ``query_identity`` identifies the queries: the cursor of a page is valid only for the same ones.
    ``is_reversed``: the order of the lists is the opposite of their default order.
    """

    entity: type[Entity]
    limit: int
    collections: list[CollectionSource] = field(default_factory=list)
    cursors: list[PostingCursor] = field(default_factory=list)
    predicates: list[ListPredicate] = field(default_factory=list)
    copied_names: list[frozenset[str]] = field(default_factory=list)
    query_identity: tuple[str, ...] = ()
    is_reversed: bool = False

    def build_cursor(self) -> PostingCursor:
        """The union of all cursors. Sets how many rows the first read of each list requests.

        The lists share the rows of a page: a listing has one list for each of its shards.
        """
        lists = [cursor for cursor in self.cursors if isinstance(cursor, PostingList)]
        block = (self.limit + max(2, self.limit // 10)) // max(1, len(lists))
        for posting_list in lists:
            posting_list.first = max(posting_list.first, block)
        if len(self.cursors) == 1 and isinstance(self.cursors[0], PostingList | SparsestOf):
            for leaf in list_leaves(self.cursors[0]):
                leaf.alone = True
        return union_of(self.cursors)

    def is_copied(self, names: Sequence[str] | None) -> bool:
        """Whether the rows of all lists copy the fields of these names; None means all fields."""
        if len(self.copied_names) < len(self.predicates):
            return False  # the rows of a search copy nothing
        needed = names
        if needed is None:
            needed = (*self.entity.fields_, *list_inherited_names(self.entity))
        needed = (*needed, *list_scale_attributes(self.entity, needed))
        return all(copied.issuperset(needed) for copied in self.copied_names)


def plan_lists(
    key_resolver: KeyResolver,
    instances: InstanceChooser,
    related_search: RelatedSearch,
    queries: Sequence[ListQuery[Any]],
    limit: int,
    skip_from: int | None = None,
) -> ListPlan:
    """The lists of queries, at least one, whose results are merged into one page.

    ``skip_from``: prefer instances that retire to those of this generation and later ones, because
    a cursor may be of them.

    Raises:
        TypeError: the queries are of several entities, or their lists of different orders or
            directions; or a list does not have the order that its range needs.
        Invalid: there are over 100 lists, or a field does not accept a value.
        BeingBuilt: no listing or search that answers a query includes all items yet.
    """
    if len(queries) > MAX_LISTS:
        raise Invalid(f"{len(queries)} lists would have to be merged; at most {MAX_LISTS}")
    entity = queries[0].entity
    list_plan = ListPlan(entity, limit, is_reversed=queries[0].is_reversed)
    if list_plan.is_reversed:
        list_plan.query_identity = ("reversed",)
    if any(query.is_reversed != list_plan.is_reversed for query in queries):
        raise TypeError(f"only lists of {entity.__name__} in the same direction can be merged")
    if any(query.entity is not entity for query in queries):
        raise TypeError("only lists of one entity can be merged")
    plan = key_resolver.ledger.current[entity.__name__].plan
    planner = _ListPlanner(key_resolver, instances, related_search, skip_from, plan, list_plan)
    distinct = queries if len(queries) == 1 else dict.fromkeys(queries)  # a hash takes time
    orders = {planner.add_list(query) for query in distinct}
    if len(orders) > 1:
        raise TypeError(f"only lists of {entity.__name__} with the same order can be merged")
    return list_plan


@dataclass(frozen=True)
class _ListPlanner:
    """Adds the lists of single queries to ``list_plan``. ``plan``: of their entity."""

    key_resolver: KeyResolver
    instances: InstanceChooser
    related_search: RelatedSearch
    skip_from: int | None
    plan: EntityPlan
    list_plan: ListPlan

    def add_list(self, query: ListQuery[Any]) -> object:
        """Add the lists of one query, and return their order.

        The order is only compared: lists can be merged if their orders are equal.
        """
        plan = self.plan
        self.list_plan.query_identity += (query.by, query.name)
        if query.window is not None:
            self.list_plan.query_identity += (str(query.window),)
        match query.by:
            case "partition" | "under":
                sources = self._plan_partition(query)
            case "inverse":
                sources = [self._plan_inverse(query)]
            case "listing":
                listing = self.instances.choose_listing(plan, query.name, skip_from=self.skip_from)
                return self._add_listing(listing, query)
            case "search":
                search = self.instances.choose_search(plan, query.name, skip_from=self.skip_from)
                return self._add_search(search, query)
        self.list_plan.collections += sources
        self.list_plan.query_identity += tuple(source.partition for source in sources)
        self.list_plan.query_identity += tuple(source.prefix for source in sources if source.prefix)
        return "partition" if query.by == "under" else query.by

    def _plan_partition(self, query: ListQuery[Any]) -> list[CollectionSource]:
        """The shards of a collection, or of its items whose sort keys begin with given values."""
        plan = self.plan
        names = plan.key.fields[: len(query.parts)]
        arguments = parse_arguments(query.entity, names, query.parts)
        texts = render_fields(plan, names, arguments)
        partition_texts = texts[: len(plan.key.partition)]
        sort_texts = texts[len(plan.key.partition) :]
        is_whole = len(sort_texts) == len(plan.key.sort)
        prefix = ""
        if sort_texts:
            prefix = keys.render(*sort_texts) if is_whole else keys.render_prefix(*sort_texts)
            check_key_length(names[-1], prefix, keys.check_sort)
        order = plan.key.sort[len(sort_texts) :]
        bounds = self._compute_bounds(query, order, "" if is_whole else prefix)
        shards = self.key_resolver.resolve_shards(query.entity, plan, arguments)
        if shards is None:
            raise NotFound(f"no such collection of {plan.name}")
        name = query.name if not plan.key.partition else plan.key.partition[-1]
        parts = (self.key_resolver.tenant, plan.name, *partition_texts)
        partitions = [keys.render(*parts, shard) for shard in shards] or [keys.render(*parts)]
        return [
            CollectionSource(
                check_key_length(name, partition, keys.check_partition),
                prefix=prefix,
                is_whole=is_whole and bool(prefix),
                range=bounds,
            )
            for partition in partitions
        ]

    def _compute_bounds(
        self, query: ListQuery[Any], fields: Sequence[str], head: str = ""
    ) -> KeyRange:
        """The sort keys in the range of a query, which its cursors are bound to, and its window."""
        order = ListOrder(self.plan, query, fields, head)
        bounds = order.compute_range()
        if query.has_range:
            end = "open" if bounds.is_open else ""
            self.list_plan.query_identity += (keys.render("range", bounds.low, bounds.high, end),)
        return bounds.intersect(order.compute_window(self.related_search.now))

    def _plan_inverse(self, query: ListQuery[Any]) -> CollectionSource:
        """The collection of an edge from its other end: a partition of GSI1."""
        plan = self.plan
        arguments = parse_arguments(query.entity, plan.key.sort, query.parts)
        texts = render_fields(plan, plan.key.sort, arguments)
        partition = keys.render(self.key_resolver.tenant, plan.name, *texts)
        return CollectionSource(
            check_key_length(plan.key.sort[-1], partition, keys.check_partition),
            "GSI1",
            range=self._compute_bounds(query, plan.key.partition),
        )

    def _add_listing(self, listing: ListingPlan, query: ListQuery[Any]) -> object:
        """Add the posting lists of one value of a listing; see `add_list`."""
        plan = self.plan
        parts = render_parts(query.entity, plan, listing.partition, query.parts)
        name = listing.partition[-1].field if listing.partition else listing.name
        bounds = self._compute_bounds(query, listing.order)
        sharded_parts = [(parts, shard) for shard in range(listing.shards)]
        for partition in item_keys.render_listing_lists(
            self.key_resolver.tenant, plan, listing, sharded_parts
        ):
            partition_key = check_key_length(name, partition, keys.check_partition)
            self.list_plan.cursors.append(PostingList(partition_key, range=bounds))
        self.list_plan.predicates.append(ListingPredicate(listing, parts))
        self.list_plan.copied_names.append(self.instances.list_copied_names(plan, listing))
        self.list_plan.query_identity += (str(listing.since), *parts)
        return listing.order

    def _add_search(self, search: SearchPlan, query: ListQuery[Any]) -> object:
        """Add the posting lists that contain all matches of a keyword; see `add_list`.

        A keyword matches if its first term, the whole text, matches, or if all of its words do. So
        the lists of the first term are united with the intersection of those of the words.
        """
        (text,) = query.parts
        try:
            keyword = Keyword.parse(text, search.all_rules)
        except KeywordError as error:
            raise refuse(
                400 if error.malformed else 422, str(error), field=DEFAULT_PARAMETER
            ) from error
        related_matches = self.related_search.find_matching_ids(search, keyword)
        self.list_plan.predicates.append(SearchPredicate(search, keyword, related_matches))
        self.list_plan.query_identity += (str(search.since), str(keyword.lists_all))
        if keyword.lists_all:
            self.list_plan.cursors += self._plan_gram(search, Probe(EVERYTHING))
        cursors_by_term: list[list[PostingCursor]] = []
        for index, term in enumerate(keyword.terms):
            self.list_plan.query_identity += ("", *term.meanings)
            cursors_by_term.append(self._plan_term(search, term, index, related_matches))
        if cursors_by_term:
            self.list_plan.cursors += cursors_by_term[0]
        if len(cursors_by_term) > 1:
            word_cursors = [union_of(cursors) for cursors in cursors_by_term[1:]]
            self.list_plan.cursors.append(Intersection(word_cursors))
        return item_keys.NEWEST

    def _plan_term(
        self, search: SearchPlan, term: Term, index: int, related_matches: Sequence[RelatedMatches]
    ) -> list[PostingCursor]:
        """The lists that contain all matches of the term with this index in its keyword."""
        cursors: list[PostingCursor] = []
        for alternatives in term.compute_probes(grams.get_steps(search)):
            choices = [union_of(self._plan_gram(search, probe)) for probe in alternatives]
            cursors.append(choices[0] if len(choices) == 1 else SparsestOf(choices))
        for through, related in zip(search.through, related_matches, strict=True):
            ids = related.ids_by_term[index]
            if not ids:
                continue
            related_cursors = self._plan_related(through, ids)
            if related_cursors is None:  # checking every item costs less, or is the only way
                return self._plan_gram(search, Probe(EVERYTHING), certain=False)
            cursors += related_cursors
        return cursors

    def _plan_related(
        self, through: ThroughPlan, ids: frozenset[str]
    ) -> list[PostingCursor] | None:
        """The lists of the items that refer to these ids; None if all items should be checked."""
        listing = self.instances.find_related_listing(self.plan, through)
        if listing is None:
            return None
        limit = self.list_plan.limit
        return self.related_search.build_cursors(self.plan, through, listing, ids, limit)

    def _plan_gram(
        self, search: SearchPlan, probe: Probe, *, certain: bool = True
    ) -> list[PostingCursor]:
        """The lists of one gram, one for each shard. ``certain``: each of their rows is a match."""
        shards = search.shards if len(probe.gram) <= HOT_GRAM else 1
        sharded_grams = [(probe.gram, shard) for shard in range(shards)]
        return [
            PostingList(partition, probe.rest, certain, mark=probe.mark, inside=probe.inside)
            for partition in item_keys.render_gram_lists(
                self.key_resolver.tenant, self.plan, search, sharded_grams
            )
        ]
