"""Lists: from a question to the item collections that answer it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from daicho.declare.entity import Entity
from daicho.declare.queries import Many
from daicho.errors import Invalid, NotFound, refuse
from daicho.items.arguments import attributes, field_texts, fitting, part_texts
from daicho.layout import item_keys
from daicho.plan import EntityPlan, Ledger, ListingPlan, SearchPlan, key_fields
from daicho.query.collection_reader import Source
from daicho.query.index_reader import Asked, Listed, Reached, Searched
from daicho.query.key_resolver import Places
from daicho.query.related_search import Reach, merged
from daicho.search import analyzer
from daicho.search.grams import EVERYTHING, HOT_GRAM, Probe
from daicho.search.keyword import Keyword, KeywordError, Term
from daicho.search.posting_lists import AllOf, Posting, Stream, leaves
from daicho.search.sparsest_list import RarestOf
from daicho.storage import keys

MOST_QUESTIONS = 100


@dataclass
class AskedLists:
    """The lists that answer one or more questions: direct ones, or streams of postings.

    ``question`` tells these questions from all others: it is what a cursor is bound to.
    """

    entity: type[Entity]
    limit: int
    direct: list[Source] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    question: tuple[str, ...] = ()

    def stream(self) -> Stream:
        """All of them as one, each with the first block that a page of the limit needs."""
        alone = [each for each in self.streams if isinstance(each, Posting)]
        block = (self.limit + max(2, self.limit // 10)) // max(1, len(alone))
        for each in alone:
            each.first = max(each.first, block)
        for stream in self.streams:
            if len(self.streams) == 1 and isinstance(stream, Posting | RarestOf):
                for each in leaves(stream):
                    each.alone = True
        return merged(self.streams)


@dataclass(frozen=True)
class Lists:
    """Finds the lists of a tenant's questions."""

    places: Places
    ledger: Ledger
    tenant: str
    reach: Reach
    now: dt.datetime

    def asked(self, many: Sequence[Many[Any]], limit: int) -> AskedLists:
        """The lists of questions that are to be merged.

        Raises:
            TypeError: lists that have no common order.
            Invalid: over 100 of them, or a value that a field does not take.
        """
        if not many:
            raise TypeError("a page is of one list at least")
        if len(many) > MOST_QUESTIONS:
            raise Invalid(f"{len(many)} lists would have to be merged; at most {MOST_QUESTIONS}")
        entity = many[0].entity
        plan = self.ledger.current(entity.__name__).plan
        found = AskedLists(entity, limit)
        if any(each.entity is not entity for each in many):
            raise TypeError("lists of one entity can be merged")
        orders = {self._add(plan, each, found) for each in dict.fromkeys(many)}
        if len(orders) > 1:
            raise TypeError(f"lists of {entity.__name__} that are ordered alike can be merged")
        return found

    def _add(self, plan: EntityPlan, many: Many[Any], found: AskedLists) -> object:
        found.question += (many.by, many.name)
        if many.window is not None:
            found.question += (str(many.window),)
        match many.by:
            case "partition" | "under":
                sources = self._partition(plan, many)
            case "inverse":
                sources = [self._inverse(plan, many)]
            case "listing":
                listing = next(each for each in plan.listings if each.name == many.name)
                return self._listing(plan, listing, many, found)
            case "search":
                search = next(each for each in plan.searches if each.name == many.name)
                return self._search(plan, search, many, found)
        found.direct += sources
        found.question += tuple(source.partition for source in sources)
        found.question += tuple(source.prefix for source in sources if source.prefix)
        return "partition" if many.by == "under" else many.by

    def _partition(self, plan: EntityPlan, many: Many[Any]) -> list[Source]:
        """The shards of a collection, or of all in it whose sort key begins as is asked."""
        names = key_fields(plan)[: len(many.parts)]
        given = attributes(many.entity, zip(names, many.parts, strict=True))
        texts = field_texts(plan, names, given)
        inside = len(plan.key.partition)
        texts, under = texts[:inside], texts[inside:]
        whole = len(under) == len(plan.key.sort)
        prefix = "" if not under else keys.render(*under) if whole else keys.prefix(*under)
        if prefix:
            fitting(names[-1], prefix, keys.check_sort)
        floor = self._floor(plan, many, plan.key.sort[len(under) :])
        shards = self.places.shards(many.entity, plan, given)
        if shards is None:
            raise NotFound(f"no such collection of {plan.name}")
        name = many.name if not plan.key.partition else plan.key.partition[-1]
        head = (self.tenant, plan.name, *texts)
        partitions = [keys.render(*head, each) for each in shards] or [keys.render(*head)]
        return [
            Source(
                fitting(name, each, keys.check_partition),
                prefix=prefix,
                whole=whole and bool(prefix),
                floor=prefix + floor if floor else "",
            )
            for each in partitions
        ]

    def _floor(self, plan: EntityPlan, many: Many[Any], order: Sequence[str]) -> str:
        """Where the part of a list that is younger than its window begins; "" without one."""
        if many.window is None:
            return ""
        if not order or not (order[0] == "created_at" or plan.fields.get(order[0]) == "datetime"):
            raise TypeError(f"{many.name} of {plan.name} is not ordered by an instant")
        return keys.escape(keys.instant(self.now - many.window))

    def _inverse(self, plan: EntityPlan, many: Many[Any]) -> Source:
        given = attributes(many.entity, zip(plan.key.sort, many.parts, strict=True))
        texts = field_texts(plan, plan.key.sort, given)
        partition = keys.render(self.tenant, plan.name, *texts)
        return Source(fitting(plan.key.sort[-1], partition, keys.check_partition), "GSI1")

    def _listing(
        self, plan: EntityPlan, listing: ListingPlan, many: Many[Any], found: AskedLists
    ) -> object:
        parts = part_texts(many.entity, plan, listing.partition, many.parts)
        name = listing.partition[-1].field if listing.partition else listing.name
        floor = self._floor(plan, many, listing.order)
        for shard in range(listing.shards):
            partition = item_keys.listing_list(self.tenant, plan, listing, parts, shard)
            checked = fitting(name, partition, keys.check_partition)
            found.streams.append(Posting(checked, floor=floor))
        found.asked.append(Listed(listing, parts))
        found.question += (str(listing.since), *parts)
        return listing.order

    def _search(
        self, plan: EntityPlan, search: SearchPlan, many: Many[Any], found: AskedLists
    ) -> object:
        (text,) = many.parts
        try:
            keyword = Keyword.parse(text, search.kinds)
        except KeywordError as error:
            raise refuse(400 if error.malformed else 422, str(error), field="q") from error
        reached = self.reach.reached(search, keyword)
        found.asked.append(Searched(search, keyword, reached))
        if keyword.lists_all:
            found.streams += self._gram(plan, search, Probe(EVERYTHING))
        if keyword.whole:
            found.streams += self._term(plan, search, keyword.whole, 0, reached, found.limit)
        if keyword.words:
            words = [
                self._term(plan, search, term, place, reached, found.limit)
                for place, term in enumerate(keyword.words, start=1)
            ]
            found.streams.append(AllOf([merged(each) for each in words]))
        found.question += (str(search.since), str(keyword.lists_all))
        found.question += tuple(each for term in keyword.terms for each in ("", *term.meanings))
        return item_keys.NEWEST

    def _term(
        self,
        plan: EntityPlan,
        search: SearchPlan,
        term: Term,
        place: int,
        reached: Sequence[Reached],
        limit: int,
    ) -> list[Stream]:
        """The lists that hold all matches of one term, the ``place``-th of its keyword."""
        lists: list[Stream] = []
        for alternatives in term.probes(analyzer.steps_of(search)):
            streams = [merged(self._gram(plan, search, probe)) for probe in alternatives]
            lists.append(streams[0] if len(streams) == 1 else RarestOf(streams))
        for through, each in zip(search.through, reached, strict=True):
            belonging = self.reach.streams(plan, through, each.found[place], limit)
            if belonging is None:
                return self._gram(plan, search, Probe(EVERYTHING), certain=False)
            lists += belonging
        return lists

    def _gram(
        self, plan: EntityPlan, search: SearchPlan, probe: Probe, *, certain: bool = True
    ) -> list[Stream]:
        """The list of one gram, over its shards."""
        shards = search.shards if len(probe.gram) <= HOT_GRAM else 1
        lists = (
            item_keys.gram_list(self.tenant, plan, search, probe.gram, s) for s in range(shards)
        )
        return [
            Posting(each, probe.rest, certain, mark=probe.mark, inside=probe.inside)
            for each in lists
        ]
