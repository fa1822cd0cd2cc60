"""Lists: from a question to the item collections that answer it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from daicho import derive, keys
from daicho.asking import attributes, field_texts, fitting, part_texts
from daicho.entity import Entity
from daicho.errors import Invalid, NotFound
from daicho.places import Places
from daicho.plan import EntityPlan, Ledger, ListingPlan, SearchPlan
from daicho.questions import Many
from daicho.reading import Asked, Listed, Searched, Source
from daicho.search.grams import Keyword, KeywordError

MOST_QUESTIONS = 100
HOT_GRAM = 1
"""Grams of this length and shorter are spread over a search's shards."""


@dataclass
class AskedLists:
    """The lists that answer one or more questions: direct ones, or postings with their tests.

    ``question`` tells these questions from all others: it is what a cursor is bound to.
    """

    entity: type[Entity]
    direct: list[Source] = field(default_factory=list)
    postings: list[tuple[Source, Asked]] = field(default_factory=list)
    question: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lists:
    """Finds the lists of a tenant's questions."""

    places: Places
    ledger: Ledger
    tenant: str

    def asked(self, many: Sequence[Many[Any]]) -> AskedLists:
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
        found = AskedLists(entity)
        if any(each.entity is not entity for each in many):
            raise TypeError("lists of one entity can be merged")
        orders = {self._add(plan, each, found) for each in dict.fromkeys(many)}
        if len(orders) > 1:
            raise TypeError(f"lists of {entity.__name__} that are ordered alike can be merged")
        return found

    def _add(self, plan: EntityPlan, many: Many[Any], found: AskedLists) -> object:
        found.question += (many.by, many.name)
        match many.by:
            case "partition":
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
        return many.by

    def _partition(self, plan: EntityPlan, many: Many[Any]) -> list[Source]:
        given = attributes(many.entity, zip(plan.key.partition, many.parts, strict=True))
        texts = field_texts(plan, plan.key.partition, given)
        shards = self.places.shards(many.entity, plan, given)
        if shards is None:
            raise NotFound(f"no such collection of {plan.name}")
        name = many.name if not plan.key.partition else plan.key.partition[-1]
        head = (self.tenant, plan.name, *texts)
        partitions = [keys.render(*head, each) for each in shards] or [keys.render(*head)]
        return [Source(fitting(name, each, keys.check_partition)) for each in partitions]

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
        asked = Listed(listing, parts)
        for shard in range(listing.shards):
            partition = derive.listing_list(self.tenant, plan, listing, parts, shard)
            source = Source(fitting(name, partition, keys.check_partition), "GSI2")
            found.postings.append((source, asked))
        found.question += (str(listing.since), *parts)
        return listing.order

    def _search(
        self, plan: EntityPlan, search: SearchPlan, many: Many[Any], found: AskedLists
    ) -> object:
        try:
            keyword = Keyword.parse(*many.parts)
        except KeywordError as error:
            raise Invalid(str(error), field="q") from error
        asked = Searched(search, keyword)
        for probe in keyword.probes(search.steps):
            spread = search.shards > 1 and len(probe.gram) <= HOT_GRAM
            for shard in range(search.shards if spread else 1):
                partition = derive.gram_list(self.tenant, plan, search, probe.gram, shard)
                found.postings.append((Source(partition, "GSI2", probe.rest), asked))
        found.question += (str(search.since), str(keyword.lists_all), *keyword.words)
        return derive.NEWEST
