"""Lists that hold the items themselves, merged in order, a page at a time.

These lists are a partition with its shards, and an edge from its far end (GSI1). They are read
forward, or backward if the query is reversed. `daicho.query.index_reader` reads the lists of keys.

A page does bounded work: after `MAX_ROWS` rows it ends early, with a cursor. No item is skipped.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import field
from math import ceil, sqrt

from daicho.errors import ExceedsBounds
from daicho.layout.base_item import is_expired
from daicho.layout.versions import get_kept_bytes
from daicho.query.paging import CursorPosition
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import keys
from daicho.storage.attributes import Image
from daicho.storage.requests import EVERY_KEY, KeyRange, Query, cover_components
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

HIGHEST_KEY = "\U0010ffff" * (keys.SORT_KEY_BYTES // 4)
"""Sorts after every sort key."""

CollectionPage = tuple[list[Image], CursorPosition | None]


@dataclass(frozen=True)
class CollectionSource:
    """One item collection to read, or the part of it whose sort keys begin with ``prefix``.

    ``is_whole``: the prefix is the complete sort key. ``range``: a limit besides the prefix.
    """

    partition: str
    index: str | None = None
    prefix: str = ""
    is_whole: bool = False
    range: KeyRange = EVERY_KEY

    @property
    def order(self) -> str:
        """The attribute that the collection is ordered by."""
        return f"{self.index or ''}SK"

    @property
    def bounds(self) -> KeyRange:
        """The sort keys to read."""
        if not self.prefix:
            return self.range
        if self.is_whole:
            return KeyRange(self.prefix, self.prefix).intersect(self.range)
        components = cover_components(self.prefix.removesuffix(keys.DELIMITER))
        return KeyRange(self.prefix, components.high).intersect(self.range)


CollectionEntry = tuple[CursorPosition, Image]
"""One row of a source."""


@dataclass(frozen=True)
class CollectionReader:
    """Reads a page of lists that hold the items themselves, behind ``start``.

    ``now`` is in epoch seconds.
    """

    table: Table
    now: int
    sources: Sequence[CollectionSource]
    start: CursorPosition | None
    limit: int
    forward: bool = True

    def read_page(self) -> CollectionPage:
        """The page, and the position of the next page.

        The items are in order. If there are over 100 lists, the items of the first 100 come before
        all others, and a page ends at the end of its 100 lists. A poll of a million votes a second
        has 2,000 lists, each list costs a request, and all of them may be empty. Backward, all of
        this is the other way round.
        """
        first = _choose_first_list(len(self.sources), self.start, forward=self.forward)
        buffer = PageBuffer(self.limit)
        last_decided = self.start
        try:
            for examined, (position, image) in enumerate(self._merge_sources(first)):
                if buffer.is_full or examined == MAX_ROWS:
                    return buffer.images, last_decided
                if not is_expired(image, self.now) and not buffer.add_image(image):
                    return buffer.images, last_decided
                last_decided = position
        except ExceedsBounds:
            if last_decided == self.start:
                raise
            return buffer.images, last_decided
        if self.forward and first + MAX_MERGED < len(self.sources):
            return buffer.images, CursorPosition(LOWEST_KEY, first + MAX_MERGED)
        if not self.forward and first > 0:
            return buffer.images, CursorPosition(HIGHEST_KEY, first - 1)
        return buffer.images, None

    def _merge_sources(self, first: int) -> Iterator[CollectionEntry]:
        """The undecided rows of a hundred sources from the ``first`` on, in order."""
        sources = self.sources[first : first + MAX_MERGED]
        # The share of each list in a page, and a deviation more: most lists need one query.
        share = self.limit / max(1, len(sources))
        block = ceil(share + sqrt(share)) + 1
        lists = [
            self._read_entries(source, place, block) for place, source in enumerate(sources, first)
        ]
        if len(lists) == 1:
            return lists[0]
        return heapq.merge(*lists, key=lambda entry: entry[0], reverse=not self.forward)

    def _read_entries(
        self, source: CollectionSource, place: int, block: int
    ) -> Iterator[CollectionEntry]:
        """The undecided rows of one source, page after page by LastEvaluatedKey."""
        bounds, start, forward = source.bounds, self.start, self.forward
        if start is not None:
            # Each list has its own rows at the decided order. The loop below skips them.
            decided = KeyRange(low=start.order) if forward else KeyRange(high=start.order)
            bounds = bounds.intersect(decided)
        if bounds.is_empty:
            return
        query = Query(
            source.partition,
            source.index,
            low=bounds.low or None,
            high=bounds.high or None,
            forward=forward,
            limit=block,
            consistent=source.index is None,
        )
        for page in self.table.query_pages(query):
            for image in page.items:
                position = CursorPosition(image[source.order]["S"], place)
                is_undecided = start is None or (position > start if forward else position < start)
                if is_undecided and bounds.contains(position.order):
                    yield position, image


def _choose_first_list(count: int, start: CursorPosition | None, *, forward: bool) -> int:
    """The first of the lists to merge. A forged cursor may contain any number."""
    last = max(0, count - 1)
    place = 0 if forward else last
    if start is not None:
        place = max(0, start.list) if forward else min(max(0, start.list), last)
    return place - place % MAX_MERGED


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
