"""Lists: what stands in them now, merged in order, a page at a time.

Two kinds. *Direct* lists hold the items themselves: a partition, over its shards, and an edge from
its far end (GSI1); they are read forward. *Posting* lists (GSI2: listings and searches) hold only
keys, and lag behind: what they name is fetched and shown only if it still stands there. They are
read newest first, and all rows of one item share their order, so that an item which several lists
name is decided once.

A page does bounded work: past `MOST_ROWS` it comes short, with a cursor. Nothing is skipped.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import ceil, sqrt
from typing import Protocol, TypeVar

from daicho import derive, images, keys
from daicho.cursor import Position
from daicho.derive import ItemKey
from daicho.errors import UnprocessedError
from daicho.images import Image
from daicho.plan import EntityPlan, Ledger, ListingPlan, NewerGenerationError, SearchPlan
from daicho.requests import Query
from daicho.search.grams import Keyword
from daicho.table import Table
from daicho.writing import expired

MOST_ROWS = 1_000
"""Rows that one page examines at most."""

MOST_BYTES = 2 * 1024 * 1024
"""Of the items of one page, but for a single larger one: Lambda answers with 6 MB at most, JSON in
JSON."""

BLOCK, LEAST_BLOCK = 110, 27
"""Rows that one query asks for: a page and some; of many lists, fewer of each."""

MOST_MERGED = 100
"""Lists of items that are merged at a time; more are read so many after so many."""

Found = tuple[list[Image], Position | None]
Numbered = TypeVar("Numbered", ListingPlan, SearchPlan)


@dataclass(frozen=True)
class Source:
    """One item collection to read. ``rest``: what must stand behind the gram in a posting's key."""

    partition: str
    index: str | None = None
    rest: str = ""

    @property
    def order(self) -> str:
        """The attribute that the collection is ordered by."""
        return f"{self.index or ''}SK"


@dataclass(frozen=True)
class Entry:
    """One row of a source."""

    position: Position
    image: Image


class Asked(Protocol):
    """A listing or a search as it was asked: whether an image stands in it, at that order."""

    def stands(self, plan: EntityPlan, image: Image, order: str) -> bool:
        """``plan`` is that of the image's generation."""


@dataclass(frozen=True)
class Listed:
    """A listing, with the values that it was asked with."""

    listing: ListingPlan
    parts: tuple[str, ...]

    def stands(self, plan: EntityPlan, image: Image, order: str) -> bool:
        """Whether the image is listed under these values, and there."""
        own = _same(plan.listings, self.listing)
        if own is None or self.parts not in set(derive.listed(plan, own, image)):
            return False
        return derive.order_key(plan, image, own.order) == order


@dataclass(frozen=True)
class Searched:
    """A search, with the keyword that it was asked with."""

    search: SearchPlan
    keyword: Keyword

    def stands(self, plan: EntityPlan, image: Image, order: str) -> bool:
        """Whether the image matches now, and stands there."""
        own = _same(plan.searches, self.search)
        if own is None or not self.keyword.matches(derive.search_values(own, image)):
            return False
        return derive.order_key(plan, image, derive.NEWEST) == order


@dataclass(frozen=True)
class Reader:
    """Reads pages of one entity's lists. ``now`` is in epoch seconds."""

    table: Table
    ledger: Ledger
    entity: str
    now: int

    def direct(self, sources: Sequence[Source], start: Position | None, limit: int) -> Found:
        """A page of lists that hold the items themselves, and where it goes on.

        They come in order; of over 100 lists, the first 100 before all others: a poll of a
        million votes a second has 2,000, and each that is merged is a request.
        """
        shown = _Shown(limit)
        decided = start
        for examined, entry in enumerate(self._by_hundreds(sources, start, limit)):
            if shown.is_full or examined == MOST_ROWS:
                return shown.images, decided
            if not expired(entry.image, self.now) and not shown.take(entry.image):
                return shown.images, decided
            decided = entry.position
        return shown.images, None

    def postings(
        self, lists: Sequence[tuple[Source, Asked]], start: Position | None, limit: int
    ) -> Found:
        """A page of lists that hold keys: each item once, if it stands in one of them now."""
        shown = _Shown(limit)
        decided, examined = start, 0
        groups = self._groups(lists, start)
        while True:
            block: list[_Candidate] = []
            wanted = limit - len(shown.images)
            while sum(1 for each in block if each.asked) < wanted and examined < MOST_ROWS:
                candidate = next(groups, None)
                if candidate is None:
                    break
                block.append(candidate)
                examined += candidate.rows
            standing, undone = self._standing(block)
            for candidate in block:
                if candidate.base in undone:
                    if decided == start:
                        raise UnprocessedError(list(undone))
                    return shown.images, decided
                if candidate in standing and not shown.take(standing[candidate]):
                    return shown.images, decided
                decided = Position(candidate.order)
            if shown.is_full or examined >= MOST_ROWS:
                return shown.images, decided if next(groups, None) else None
            if not block:
                return shown.images, None

    def _groups(
        self, lists: Sequence[tuple[Source, Asked]], start: Position | None
    ) -> Iterator[_Candidate]:
        """The rows of one order together: they are one item's, from however many lists."""
        entries = self._merged([source for source, _ in lists], start, forward=False)
        for order, rows in groupby(entries, key=lambda entry: entry.position.order):
            yield _candidate(order, list(rows), lists)

    def _standing(
        self, block: Sequence[_Candidate]
    ) -> tuple[dict[_Candidate, Image], frozenset[ItemKey]]:
        """Images of the candidates that stand where they were found, and keys not got round to.

        What is missing or fails is read once more, consistently, before it is dropped: the first
        read may be older than the index.
        """
        left = [each for each in block if each.asked]
        found: dict[_Candidate, Image] = {}
        undone: tuple[ItemKey, ...] = ()
        for consistent in (False, True):
            if left:
                answer = self.table.batch_get((each.base for each in left), consistent=consistent)
                undone = answer.unprocessed
                for each in left:
                    image = answer.items.get(each.base)
                    if image is not None and self._stands(each, image):
                        found[each] = image
                left = [each for each in left if each not in found]
        return found, frozenset(undone) - {each.base for each in found}

    def _stands(self, candidate: _Candidate, image: Image) -> bool:
        if expired(image, self.now):
            return False
        plan = plan_of(self.ledger, self.entity, image)
        return any(asked.stands(plan, image, candidate.order) for asked in candidate.asked)

    def _by_hundreds(
        self, sources: Sequence[Source], start: Position | None, limit: int
    ) -> Iterator[Entry]:
        # A forged cursor may say anything.
        first = 0 if start is None else max(0, start.list - start.list % MOST_MERGED)
        for begin in range(first, len(sources), MOST_MERGED):
            some = sources[begin : begin + MOST_MERGED]
            # What each list gives to a page, and a deviation more: most are asked once.
            share = limit / len(some)
            block = ceil(share + sqrt(share)) + 1
            since = start if begin == first else None
            lists = [
                self._entries(source, place, since, True, block)
                for place, source in enumerate(some, begin)
            ]
            yield from heapq.merge(*lists, key=lambda entry: entry.position)

    def _merged(
        self, sources: Sequence[Source], start: Position | None, *, forward: bool
    ) -> Iterator[Entry]:
        block = max(LEAST_BLOCK, BLOCK // max(1, len(sources)))
        lists = [
            self._entries(source, place, start, forward, block)
            for place, source in enumerate(sources)
        ]
        by_position: Callable[[Entry], Position] = lambda entry: entry.position  # noqa: E731
        return heapq.merge(*lists, key=by_position, reverse=not forward)

    def _entries(
        self, source: Source, place: int, start: Position | None, forward: bool, block: int
    ) -> Iterator[Entry]:
        """The undecided rows of one source, page after page by LastEvaluatedKey."""
        query = Query(source.partition, source.index, forward=forward, limit=block)
        if source.index is None:
            query = replace(query, consistent=True)
        if start is not None:
            # Backward every row at the decided order is decided. Forward each list has its own
            # rows at that order, and there is no "above": what is decided is passed over.
            low, below = (start.order, None) if forward else (None, start.order)
            query = replace(query, low=low, below=below)
        for page in self.table.pages(query):
            for image in page.items:
                position = Position(image[source.order]["S"], place)
                if start is None or not forward or position > start:
                    yield Entry(position, image)


@dataclass
class _Shown:
    """What a page shows, up to its limits."""

    limit: int
    images: list[Image] = field(default_factory=list)
    bytes: int = 0

    @property
    def is_full(self) -> bool:
        return len(self.images) == self.limit

    def take(self, image: Image) -> bool:
        """Show one more, unless the page would become too large."""
        size = images.size_of(image)
        if self.images and self.bytes + size > MOST_BYTES:
            return False
        self.images.append(image)
        self.bytes += size
        return True


@dataclass(frozen=True, eq=False)
class _Candidate:
    """An item that posting lists name; ``asked`` is empty if none of its rows fits the keyword."""

    order: str
    base: ItemKey
    asked: tuple[Asked, ...]
    rows: int


def _candidate(
    order: str, rows: Sequence[Entry], lists: Sequence[tuple[Source, Asked]]
) -> _Candidate:
    asked: dict[int, Asked] = {}
    for row in rows:
        source, question = lists[row.position.list]
        if _fits(row.image, source.rest):
            asked[id(question)] = question
    base = derive.base_of_derived(rows[0].image["PK"]["S"])
    return _Candidate(order, base, tuple(asked.values()), len(rows))


def _fits(row: Image, rest: str) -> bool:
    # The sort key of a posting is its declaration, generation, gram and what follows the gram.
    return not rest or keys.parse(row["SK"]["S"])[3].startswith(rest)


def _same(declared: Iterable[Numbered], wanted: Numbered) -> Numbered | None:
    same = (each for each in declared if (each.name, each.since) == (wanted.name, wanted.since))
    return next(same, None)


def plan_of(ledger: Ledger, entity: str, image: Image) -> EntityPlan:
    """The plan by which an image is derived; the newest known for an image of newer code."""
    try:
        return ledger.plan(entity, images.integer(image, "gen") or 0)
    except NewerGenerationError:
        return ledger.current(entity).plan
