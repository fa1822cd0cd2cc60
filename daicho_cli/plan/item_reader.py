"""Reads stored items of some entities: a sample of the table, or all of it.

No index has the items of an entity, so both scan the table, and count what they find.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Literal

from daicho.errors import UnavailableError
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget
from daicho.storage import attributes
from daicho.storage.attributes import Image
from daicho.storage.parallel_scan import ParallelScan, ScanRound, ScanSegments
from daicho.storage.requests import ItemPage, Scan
from daicho.storage.table import Table
from daicho_cli.aws.table_size import TableSize

SAMPLE_ITEMS = 1_000
"""Items of an entity that are kept."""
PAGE_BYTES = 1024 * 1024
"""The limit of DynamoDB for a page of a scan, before its filter."""
SAMPLE_PAGES = 20
"""Pages of a sample: at most 2,560 read units."""
SCAN_SEGMENTS = 64
MAX_SEGMENTS = 1_000_000
"""The limit of DynamoDB."""
MAX_OPERANDS = 100
"""The limit of DynamoDB for the operands of ``IN``."""
RETRY_S = 120.0
"""The longest time without any answer of the table, in seconds."""

Basis = Literal["counted", "estimated", "at least"]
OnRound = Callable[[ScanRound[ItemPage]], None]


@dataclass(frozen=True)
class ItemCount:
    """A number of items, and where it is from.

    ``counted``: all items were read. ``estimated``: extrapolated from a sample. ``at least``: a
    part of the table was read, and its size is unknown.
    """

    count: int
    basis: Basis


@dataclass
class EntityItems:
    """The items of an entity that were read: their number, and at most `SAMPLE_ITEMS` of them.

    The items that are kept are drawn at random from all that were read.
    """

    count: int = 0
    images: list[Image] = field(default_factory=list)

    def add(self, image: Image, draw: random.Random) -> None:
        """Add an item that was read."""
        self.count += 1
        if len(self.images) < SAMPLE_ITEMS:
            self.images.append(image)
        elif (place := draw.randrange(self.count)) < SAMPLE_ITEMS:
            self.images[place] = image


@dataclass
class ItemsRead:
    """What was read of a table. ``is_whole``: all of it was."""

    entities: Mapping[str, EntityItems]
    pages: int = 0
    scanned: int = 0
    units: float = 0.0
    is_whole: bool = False

    def add(self, page: ItemPage, draw: random.Random) -> None:
        """Add a page of a scan."""
        self.pages += 1
        self.scanned += page.scanned
        self.units += page.units
        for image in page.items:
            entity = attributes.get_text(image, "type") or ""
            if entity in self.entities:
                self.entities[entity].add(image, draw)

    def count_items(self, entity: str, size: TableSize) -> ItemCount:
        """The number of an entity's items in the table, by its share of what was read."""
        found = self.entities[entity].count
        if self.is_whole:
            return ItemCount(found, "counted")
        if not self.scanned or size.items < self.scanned:
            return ItemCount(found, "at least")
        return ItemCount(round(found / self.scanned * size.items), "estimated")


def sample_items(
    store: Table,
    entities: Collection[str],
    size: TableSize,
    draw: random.Random,
    *,
    request: Scan | None = None,
) -> ItemsRead:
    """Read at most `SAMPLE_PAGES` pages, from random segments of about a page each.

    A table of fewer pages is read whole. ``request``: the scan that returns the items; by default
    it returns all items of the entities.

    Raises:
        StoreError: the table does not answer.
    """
    total = min(MAX_SEGMENTS, max(1, ceil(size.bytes / PAGE_BYTES)))
    request = request or _build_scan(entities)
    segments = draw.sample(range(total), min(total, SAMPLE_PAGES))
    read = ItemsRead({entity: EntityItems() for entity in entities})
    unread: list[tuple[int, Image | None]] = [(segment, None) for segment in segments]
    while unread and read.pages < SAMPLE_PAGES:
        segment, start = unread.pop(0)
        page = store.scan(replace(request, segment=segment, segments=total, start=start))
        read.add(page, draw)
        if page.last is not None:
            unread.append((segment, page.last))  # the other segments come first
    read.is_whole = not unread and len(segments) == total
    return read


def scan_items(
    store: Table,
    entities: Collection[str],
    draw: random.Random,
    *,
    pace: RateLimiter,
    on_image: Callable[[Image], None],
    on_round: Callable[[ScanRound[ItemPage], ScanSegments], None],
    request: Scan | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> ItemsRead:
    """Read all items of some entities, by a scan of the whole table.

    ``on_image`` receives each item, ``on_round`` each round of pages and the segments that are
    left, both in the thread of the caller. ``request``: see `sample_items`.

    Raises:
        UnavailableError: the table has not answered for two minutes.
        RefusedError: DynamoDB refuses the request permanently.
    """
    read = ItemsRead({entity: EntityItems() for entity in entities})
    segments = ScanSegments.start(SCAN_SEGMENTS)
    last_answer = clock()

    def add_round(scan_round: ScanRound[ItemPage]) -> None:
        nonlocal last_answer
        for page in scan_round.results:
            last_answer = clock()
            read.add(page, draw)
            for image in page.items:
                on_image(image)
        on_round(scan_round, segments)

    scan = ParallelScan(store, request or _build_scan(entities), lambda page: page, pace=pace)
    retry_budget = RetryBudget(lambda: last_answer + RETRY_S - clock(), reserve=0)
    if not scan.run(segments, retry_budget, add_round):
        raise UnavailableError(f"no answer for {RETRY_S:.0f} s")
    read.is_whole = True
    return read


def _build_scan(entities: Collection[str]) -> Scan:
    """A scan of base items; only those of ``entities``, unless the filter would be too long."""
    condition, values = "attribute_exists(#type)", {}
    if len(entities) <= MAX_OPERANDS:
        values = {f":e{n}": {"S": name} for n, name in enumerate(entities)}
        condition = f"#type IN ({', '.join(values)})"
    return Scan(filter=condition, names={"#type": "type"}, values=values)
