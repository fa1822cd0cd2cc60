"""Lists that hold the items themselves, merged in order, a page at a time.

A partition, over its shards, and an edge from its far end (GSI1). They are read forward. Lists of
keys are read by `daicho.query.index_reader`.

A page does bounded work: past `MOST_ROWS` it comes short, with a cursor. Nothing is skipped.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil, sqrt

from daicho.layout.base_item import is_expired
from daicho.layout.versions import get_kept_bytes
from daicho.query.paging import CursorPosition
from daicho.storage import keys
from daicho.storage.attributes import Image
from daicho.storage.requests import Query
from daicho.storage.table import Table

MAX_ROWS = 1_000
"""Rows that one page examines at most."""

MAX_BYTES = 2 * 1024 * 1024
"""Of the items of one page, but for a single larger one: Lambda answers with 6 MB at most, JSON in
JSON."""

MAX_MERGED = 100
"""Lists of items that one page merges; of more it takes so many after so many."""

LOWEST_KEY = keys.DELIMITER
"""Sorts before every sort key, since no component of one is empty."""

CollectionPage = tuple[list[Image], CursorPosition | None]


@dataclass(frozen=True)
class CollectionSource:
    """One item collection to read, or what of it has a sort key that begins with ``prefix``.

    ``whole``: that is the sort key itself. Below ``floor`` nothing is read.
    """

    partition: str
    index: str | None = None
    prefix: str = ""
    whole: bool = False
    floor: str = ""

    @property
    def order(self) -> str:
        """The attribute that the collection is ordered by."""
        return f"{self.index or ''}SK"

    @property
    def bounds(self) -> tuple[str, str]:
        """The lowest and the highest sort key to read; "" where there is no such bound."""
        high = self.prefix
        if high and not self.whole:
            # What follows the delimiter. No key is that: an escape is never the end of one.
            high = f"{high[: -len(keys.DELIMITER)]}{keys.ESCAPE}"
        return max(self.prefix, self.floor), high


@dataclass(frozen=True)
class CollectionEntry:
    """One row of a source."""

    position: CursorPosition
    image: Image


@dataclass(frozen=True)
class CollectionReader:
    """Reads pages. ``now`` is in epoch seconds."""

    table: Table
    now: int

    def read_page(
        self, sources: Sequence[CollectionSource], start: CursorPosition | None, limit: int
    ) -> CollectionPage:
        """A page of lists that hold the items themselves, and where it goes on.

        They come in order; of over 100 lists, the first 100 before all others, and a page ends
        with its hundred: a poll of a million votes a second has 2,000 lists, each is a request,
        and there may be nothing in them.
        """
        # A forged cursor may say anything.
        first = 0 if start is None else max(0, start.list - start.list % MAX_MERGED)
        behind = first + MAX_MERGED
        shown = PageBuffer(limit)
        decided = start
        for examined, entry in enumerate(
            self._merge_sources(sources[first:behind], first, start, limit)
        ):
            if shown.is_full or examined == MAX_ROWS:
                return shown.images, decided
            if not is_expired(entry.image, self.now) and not shown.add_image(entry.image):
                return shown.images, decided
            decided = entry.position
        return shown.images, CursorPosition(LOWEST_KEY, behind) if behind < len(sources) else None

    def _merge_sources(
        self, some: Sequence[CollectionSource], first: int, start: CursorPosition | None, limit: int
    ) -> Iterator[CollectionEntry]:
        # What each list gives to a page, and a deviation more: most are asked once.
        share = limit / max(1, len(some))
        block = ceil(share + sqrt(share)) + 1
        lists = [
            self._read_entries(source, place, start, block)
            for place, source in enumerate(some, first)
        ]
        return heapq.merge(*lists, key=lambda entry: entry.position)

    def _read_entries(
        self, source: CollectionSource, place: int, start: CursorPosition | None, block: int
    ) -> Iterator[CollectionEntry]:
        """The undecided rows of one source, page after page by LastEvaluatedKey."""
        low, high = source.bounds
        if start is not None:
            # Each list has rows of its own at the order that is decided: those are passed over.
            low = max(low, start.order)
        if high and low > high:
            return  # DynamoDB refuses to be asked for nothing
        query = Query(
            source.partition,
            source.index,
            low=low or None,
            high=high or None,
            limit=block,
            consistent=source.index is None,
        )
        for page in self.table.query_pages(query):
            for image in page.items:
                position = CursorPosition(image[source.order]["S"], place)
                if start is None or position > start:
                    yield CollectionEntry(position, image)


@dataclass
class PageBuffer:
    """What a page shows, up to its limits."""

    limit: int
    images: list[Image] = field(default_factory=list)
    bytes: int = 0

    @property
    def is_full(self) -> bool:
        """Whether it shows as many as were asked for."""
        return len(self.images) == self.limit

    def add_image(self, image: Image) -> bool:
        """Show one more, unless the page would become too large."""
        size = get_kept_bytes(image)
        if self.images and self.bytes + size > MAX_BYTES:
            return False
        self.images.append(image)
        self.bytes += size
        return True
