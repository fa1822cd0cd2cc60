"""Lists that hold the items themselves, merged in order, a page at a time.

These lists are a partition with its shards, and an edge from its far end (GSI1). They are read
forward. `daicho.query.index_reader` reads the lists of keys.

A page does bounded work: after `MAX_ROWS` rows it ends early, with a cursor. No item is skipped.
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
"""The size of the items of one page. A single larger item is still shown. A Lambda response has
6 MB at most, and it is JSON in JSON."""

MAX_MERGED = 100
"""Lists of items that one page merges. More lists are read in groups of this size."""

LOWEST_KEY = keys.DELIMITER
"""Sorts before every sort key, since no component of one is empty."""

CollectionPage = tuple[list[Image], CursorPosition | None]


@dataclass(frozen=True)
class CollectionSource:
    """One item collection to read, or the part of it whose sort keys begin with ``prefix``.

    ``is_whole``: the prefix is the complete sort key. Rows below ``floor`` are not read.
    """

    partition: str
    index: str | None = None
    prefix: str = ""
    is_whole: bool = False
    floor: str = ""

    @property
    def order(self) -> str:
        """The attribute that the collection is ordered by."""
        return f"{self.index or ''}SK"

    @property
    def bounds(self) -> tuple[str, str]:
        """The lowest and the highest sort key to read; "" if there is no such bound."""
        high = self.prefix
        if high and not self.is_whole:
            # The escape sorts right after the delimiter. No key ends with an escape.
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
        """A page of lists that hold the items themselves, and the position of the next page.

        The items are in order. If there are over 100 lists, the items of the first 100 come before
        all others, and a page ends at the end of its 100 lists. A poll of a million votes a second
        has 2,000 lists, each list costs a request, and all of them may be empty.
        """
        # A forged cursor may contain any number.
        first = 0 if start is None else max(0, start.list - start.list % MAX_MERGED)
        next_first = first + MAX_MERGED
        buffer = PageBuffer(limit)
        last_decided = start
        for examined, entry in enumerate(
            self._merge_sources(sources[first:next_first], first, start, limit)
        ):
            if buffer.is_full or examined == MAX_ROWS:
                return buffer.images, last_decided
            if not is_expired(entry.image, self.now) and not buffer.add_image(entry.image):
                return buffer.images, last_decided
            last_decided = entry.position
        if next_first < len(sources):
            return buffer.images, CursorPosition(LOWEST_KEY, next_first)
        return buffer.images, None

    def _merge_sources(
        self,
        sources: Sequence[CollectionSource],
        first: int,
        start: CursorPosition | None,
        limit: int,
    ) -> Iterator[CollectionEntry]:
        # The share of each list in a page, and a deviation more: most lists need one query.
        share = limit / max(1, len(sources))
        block = ceil(share + sqrt(share)) + 1
        lists = [
            self._read_entries(source, place, start, block)
            for place, source in enumerate(sources, first)
        ]
        return heapq.merge(*lists, key=lambda entry: entry.position)

    def _read_entries(
        self, source: CollectionSource, place: int, start: CursorPosition | None, block: int
    ) -> Iterator[CollectionEntry]:
        """The undecided rows of one source, page after page by LastEvaluatedKey."""
        low, high = source.bounds
        if start is not None:
            # Each list has its own rows at the decided order. The loop below skips them.
            low = max(low, start.order)
        if high and low > high:
            return  # DynamoDB refuses an empty range
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
    """The images that a page shows, up to its limits."""

    limit: int
    images: list[Image] = field(default_factory=list)
    bytes: int = 0

    @property
    def is_full(self) -> bool:
        """Whether the page shows as many images as its limit."""
        return len(self.images) == self.limit

    def add_image(self, image: Image) -> bool:
        """Show one more image, unless the page would become too large."""
        size = get_kept_bytes(image)
        if self.images and self.bytes + size > MAX_BYTES:
            return False
        self.images.append(image)
        self.bytes += size
        return True
