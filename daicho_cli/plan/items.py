"""Reads stored items of some entities, a sample of the table or all of it; checks their limits.

No index has the items of an entity, so both scan the table, and count what they find. The limits
apply to what is declared and to what retires separately (EXACTNESS rule 25).
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Literal

import typer

from daicho.derive.contributions import MAX_GROUPS, MAX_ROWS, compute_contributions
from daicho.derive.derived_items import compute_index_rows
from daicho.errors import UnavailableError
from daicho.layout.base_item import is_expired
from daicho.layout.reservations import ReservedValueError, build_reservations
from daicho.plan import EntityPlan
from daicho.rebuild.item_touch import ObstacleError
from daicho.runtime.clock import utc_now
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget
from daicho.storage import attributes
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.capacity import READ_UNIT_BYTES
from daicho.storage.parallel_scan import ParallelScan, ScanRound, ScanSegments
from daicho.storage.requests import ItemPage, Scan
from daicho.storage.table import Table
from daicho_cli.aws import TableSize
from daicho_cli.cost.prices import Prices
from daicho_cli.cost.report import format_dollars
from daicho_cli.plan.changes import EntityChange
from daicho_cli.terminal import format_duration, print_message, show_progress_bar

MAX_NAMED = 10
"""Items whose keys are kept for the output."""


@dataclass
class FoundItems:
    """The number of items with a problem, and the keys of the first ones."""

    count: int = 0
    keys: list[ItemKey] = field(default_factory=list)

    def add(self, image: Image) -> None:
        """Add an item."""
        self.count += 1
        if len(self.keys) < MAX_NAMED:
            self.keys.append(get_key(image))


@dataclass
class LimitCheck:
    """The items of an entity that were checked.

    ``over_together``: they pass the limits only because each side has its own. ``impossible``: the
    new generation cannot derive them. ``expiring``: they expire with their touch. ``taken``: they
    have a unique value that an item before them has; the keys are those of both. ``now``: in epoch
    seconds; 0 if nothing expires.
    """

    checked: int = 0
    over_together: FoundItems = field(default_factory=FoundItems)
    impossible: FoundItems = field(default_factory=FoundItems)
    expiring: FoundItems = field(default_factory=FoundItems)
    taken: FoundItems = field(default_factory=FoundItems)
    now: int = 0
    _owners: dict[bytes, ItemKey] = field(default_factory=dict)
    """The first item with each unique value, by a digest of the value."""

    def add(
        self, plan: EntityPlan, image: Image, compute: Callable[[Image], Image] = dict
    ) -> Image | None:
        """Check an item; its image after the touch, None if it gets none.

        ``compute`` gives that image, or raises `ObstacleError`.
        """
        self.checked += 1
        try:
            touched = compute(image)
        except ObstacleError:
            self.impossible.add(image)
            return None
        if is_expired(touched, self.now) and not is_expired(image, self.now):
            self.expiring.add(image)
        try:
            rows, groups = compute_index_rows(plan, touched), compute_contributions(plan, touched)
        except (ValueError, ArithmeticError, LookupError, TypeError):
            self.impossible.add(image)  # the stream would set the item's record aside
            return None
        if len(rows) > MAX_ROWS or len(groups) > MAX_GROUPS:
            self.over_together.add(image)
        if not is_expired(image, self.now):
            self._add_values(plan, touched)
        return touched

    def _add_values(self, plan: EntityPlan, image: Image) -> None:
        """Note the unique values of an item, and whether another item has one of them."""
        try:
            reserved = build_reservations(plan, image)
        except ReservedValueError:
            self.impossible.add(image)
            return
        own, is_taken = get_key(image), False
        for key in reserved:
            digest = hashlib.blake2b(key.pk.encode(), digest_size=16).digest()
            owner = self._owners.setdefault(digest, own)
            if owner != own:
                is_taken = True
                pair = [key for key in (owner, own) if key not in self.taken.keys]
                if len(self.taken.keys) + len(pair) <= MAX_NAMED:
                    self.taken.keys += pair
        self.taken.count += is_taken


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


def _build_scan(entities: Collection[str]) -> Scan:
    """A scan of base items; only those of ``entities``, unless the filter would be too long."""
    condition, values = "attribute_exists(#type)", {}
    if len(entities) <= MAX_OPERANDS:
        values = {f":e{n}": {"S": name} for n, name in enumerate(entities)}
        condition = f"#type IN ({', '.join(values)})"
    return Scan(filter=condition, names={"#type": "type"}, values=values)


@dataclass(frozen=True)
class ScanOptions:
    """``rate``: read units a second. ``confirmed``: whether the caller agreed to the price."""

    rate: float
    confirmed: bool = False


def confirm_scan(size: TableSize, prices: Prices, options: ScanOptions) -> None:
    """Print the price of a scan, and ask whether to begin.

    Raises:
        typer.Abort: the caller does not agree.
    """
    units = size.bytes / READ_UNIT_BYTES / 2  # eventually consistent
    price = (
        f"~{units:,.0f} read units, ~{format_dollars(prices.price_units(units, 0))}, "
        f"{format_duration(units / options.rate)} at {options.rate:,.0f} units/s"
    )
    if not size.bytes:
        price = "the price is unknown, because DynamoDB has not measured the table yet"
    print_message(f"A scan of the whole table: {price}")
    if not options.confirmed:
        typer.confirm("Read the whole table?", abort=True, err=True)


def scan_entities(
    store: Table,
    changes: Sequence[EntityChange],
    options: ScanOptions,
    *,
    request: Scan | None = None,
) -> tuple[ItemsRead, dict[str, LimitCheck]]:
    """Read all items of the entities that change, and check the limits of each item.

    ``request``: the scan that returns the items; by default it returns all items of the entities.

    Raises:
        UnavailableError: the table has not answered for two minutes.
        RefusedError: DynamoDB refuses the request permanently.
    """
    by_entity = {change.entity: change for change in changes}
    now = int(utc_now().timestamp())
    checks = {entity: LimitCheck(now=now) for entity in by_entity}
    read = ItemsRead({entity: EntityItems() for entity in by_entity})
    draw = random.Random()  # noqa: S311  # it chooses a sample
    segments = ScanSegments.start(SCAN_SEGMENTS)
    last_answer = time.monotonic()
    shown = ("{task.fields[items]:,} items", "{task.fields[units]:,.0f} units")
    total = segments.total
    with show_progress_bar("scan", *shown, total=total, has_end=True, items=0, units=0.0) as update:

        def add_round(scan_round: ScanRound[ItemPage]) -> None:
            nonlocal last_answer
            for page in scan_round.results:
                last_answer = time.monotonic()
                read.add(page, draw)
                for image in page.items:
                    change = by_entity.get(attributes.get_text(image, "type") or "")
                    if change is not None:
                        checks[change.entity].add(change.plan, image, change.compute)
            done = total - len(segments.starts)
            update(completed=done, items=read.scanned, units=read.units)

        pace, request = RateLimiter(options.rate), request or _build_scan(by_entity)
        scan = ParallelScan(store, request, lambda page: page, pace=pace)
        retry_budget = RetryBudget(lambda: last_answer + RETRY_S - time.monotonic(), reserve=0)
        if not scan.run(segments, retry_budget, add_round):
            raise UnavailableError(f"no answer for {RETRY_S:.0f} s")
    read.is_whole = True
    return read, checks
