"""``make bench-units``: units of a write with all that follows from it, and of a page.

They are measured on Dynoxide, through the real Book, projector and rollup. The peer of the pages is
the algorithm that seed 001 describes: read every match, fetch them all, sort in memory, cut. The
exit status is 1 if a figure exceeds its threshold.
"""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table as Printed

import domains
from daicho import Entity
from daicho.book.book import Book
from daicho.declare.registry import Daicho
from daicho.derive import derived_items
from daicho.layout import item_keys
from daicho.plan import Ledger
from daicho.runtime.retry import RetryBudget
from daicho.storage.bucket import open_bucket
from daicho.storage.requests import Query
from daicho.storage.table import Table
from daicho.stream.projector import Projector
from daicho.stream.records import Batch
from daicho.tally.rollup import Rollup
from domains.downloads import Download
from domains.messages import Message
from domains.music import Album, Artist, Song, Track
from domains.polls import Poll
from domains.votes import Ballot
from tests.support.dynoxide import client, create_table, serving
from tests.support.meter import Consumed, Meter
from tests.support.stream_pump import Consumer, Pump

DOLLARS_A_MILLION_WRITES = 0.625
DOLLARS_A_MILLION_READS = 0.125
"""On-demand, us-east-1, 2026 (Amazon DynamoDB pricing)."""

ITEMS = 300
GROUPS = 100
SIZES = (500, 2_000, 8_000)
PAGE = 100
TENANT = "acme"
MOST_WRITE_UNITS = {
    "artist (prefix search, whole name)": 30.3,
    "album (2 listings)": 5.0,
    "song (3 listings)": 7.0,
    "track (edge, both ends)": 2.0,
    "message (no subject, counted, expires)": 3.05,
    "download (2 ranked counts, a series)": 4.75,
    "vote (1 ranked count)": 1.1,
    "that message, when it expires": 2.05,
}
"""Thresholds of an item's write units. A counted one also depends on how its groups are drawn."""
MOST_PAGE_UNITS, MOST_PAGE_REQUESTS = 53.0, 2
"""Thresholds of a page, at every size of the list."""
LEAST_PEER_RATIO = 75.0
"""How many times as many units the peer needs for the longest list."""
console = Console(width=110)


class House:
    """A table with a book, a projector and a rollup."""

    def __init__(self, endpoint: str) -> None:
        self.client = client(endpoint)
        self.name = create_table(self.client)
        self.meter = Meter(self.client)
        self.table = Table(self.client, self.name)
        self.ledger = Daicho.discover(domains).check_locked(Ledger.load())
        self.book = Book(self.table, self.ledger, TENANT)
        failures = open_bucket("failures")  # nothing here is poison, so nothing goes there
        self._projector = Projector(self.table, failures, self.ledger, dirty_shards=16)
        self._rollup = Rollup(self.table, self.ledger, dirty_shards=16)
        consumer = Consumer(self._project, self.ledger.derived_types)
        self._pump = Pump(self.client, endpoint, self.name, [consumer])

    def project(self) -> None:
        """Project all records of the stream."""
        self._pump.run()

    def roll_up(self) -> None:
        """Roll up all dirty tallies."""
        self._rollup.run(RetryBudget.for_seconds(600))

    def measure(self, work: Callable[[], object]) -> Consumed:
        """The units and requests of some work."""
        with self.meter.counting() as consumed:
            work()
        return consumed

    def _project(self, event: Any, _context: Any) -> dict[str, Any]:
        if self._projector.project(Batch.parse(event), RetryBudget.for_seconds(600)) is not None:
            raise RuntimeError("not projected")
        return {"batchItemFailures": []}


def compare_writes(house: House) -> bool:
    """Print write units of an item: the base item, its derived items, slots, rollup.

    Returns whether all sums meet their thresholds.
    """
    book = house.book
    book.create(Artist(id="a0", name="Artist"))
    for group in range(GROUPS):
        book.create(Song(id=f"s{group}", title="x", artist="a0", released=1977))
    candidates = [f"c{number}" for number in range(4)]
    book.create(Poll(id="p", candidates=candidates, counting="exact", shards=8))
    house.project()
    moment = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
    makers: tuple[Callable[[int], Entity], ...] = (
        lambda n: Artist(name=f"Deep Purple {n}"),
        lambda n: Album(title=f"Album {n}", artist="a0", genre="Rock"),
        lambda n: Song(title=f"Song {n}", artist="a0", released=1977),
        lambda n: Track(playlist=f"p{n % 10}", song=f"s{n}"),
        lambda n: Message(text=f"message {n}"),
        lambda n: Download(song=f"s{n % GROUPS}", at=moment),
        lambda n: Ballot(poll="p", voter=f"v{n}", candidate=candidates[n % 4]),
    )
    rows = [_measure_row(house, house.measure(partial(_create, book, make))) for make in makers]
    _remove(house, "Message")
    # DynamoDB's TTL process deletes the item for nothing; what was derived becomes a tombstone.
    rows.append(_measure_row(house, Consumed()))
    printed = Printed("item", "base", "derived, slots", "rollup", "sum", "at most", "$ a million")
    printed.title = f"Write units an item ({ITEMS} items in one batch, {GROUPS} songs)"
    for (what, most), units in zip(MOST_WRITE_UNITS.items(), rows, strict=True):
        numbers = (*units, sum(units), most, sum(units) * DOLLARS_A_MILLION_WRITES)
        printed.add_row(what, *(f"{number:.2f}" for number in numbers))
    console.print(printed)
    sums = (round(sum(units), 2) for units in rows)
    return all(units <= most for units, most in zip(sums, MOST_WRITE_UNITS.values(), strict=True))


def _measure_row(house: House, base: Consumed) -> list[float]:
    """Units an item of the base items, of the derived items and of the rollup."""
    derived, rolled = house.measure(house.project), house.measure(house.roll_up)
    return [consumed.writes / ITEMS for consumed in (base, derived, rolled)]


def _remove(house: House, entity: str) -> None:
    for page in house.client.get_paginator("scan").paginate(TableName=house.name):
        for item in page["Items"]:
            if item.get("type") == {"S": entity}:
                house.client.delete_item(
                    TableName=house.name, Key={name: item[name] for name in ("PK", "SK")}
                )


def _create(book: Book, make: Callable[[int], Entity]) -> None:
    for number in range(ITEMS):
        book.create(make(number))


def compare_pages(house: House) -> bool:
    """Print the units of the first and of a middle page as a list grows, beside the peer's.

    Returns whether all meet their thresholds.
    """
    printed = Printed("songs of the artist", "page", "units", "requests", "peer units", "ratio")
    printed.title = f"A page of {PAGE}, against reading every match and sorting"
    is_met, ratio = True, 0.0
    for size in SIZES:
        artist = f"artist-{size}"
        _fill(house, artist, size)
        peer = house.measure(partial(_read_as_peer, house, artist)).reads
        pages = list(_walk(house, artist, size // PAGE // 2))
        for number, consumed in ((1, pages[0]), (len(pages), pages[-1])):
            requests, ratio = sum(consumed.requests.values()), peer / consumed.reads
            is_met &= consumed.reads <= MOST_PAGE_UNITS and requests <= MOST_PAGE_REQUESTS
            units = f"{consumed.reads:.1f}", str(requests), f"{peer:.1f}", f"{ratio:.1f}"
            printed.add_row(f"{size:,}", str(number), *units)
    console.print(printed)
    console.print(
        f"a page: at most {MOST_PAGE_UNITS:.0f} units in {MOST_PAGE_REQUESTS} requests; the peer "
        f"at {SIZES[-1]:,}: at least {LEAST_PEER_RATIO:.0f} times as many units"
    )
    return is_met and ratio >= LEAST_PEER_RATIO


def _fill(house: House, artist: str, size: int) -> None:
    """Put songs and their rows of one listing, in batches: only the reads are measured."""
    plan = house.ledger.current_generation("Song")
    moment = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)

    def items() -> Iterator[dict[str, Any]]:
        for number in range(size):
            created = (moment + dt.timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            image: dict[str, Any] = {
                "type": {"S": "Song"},
                "gen": {"N": str(plan.number)},
                "version": {"N": "1"},
                "created_at": {"S": created},
                "id": {"S": f"{artist}-{number:06d}"},
                "title": {"S": f"Song number {number}"},
                "artist": {"S": artist},
                "released": {"N": str(1960 + number % 60)},
            }
            key = item_keys.build_base_key(TENANT, plan.plan, image)
            image |= {"PK": {"S": key.pk}, "SK": {"S": key.sk}}
            yield image
            for row_key, row in derived_items.compute_index_rows(plan.plan, image).items():
                if not row_key.sk.startswith("of_artist"):
                    continue  # the other listings are not read here
                yield {**row.to_item(row_key), "seq": {"S": "0"}}

    house.table.batch_write(
        track(items(), f"{size:,} songs", 2 * size, console=console, transient=True)
    )


def _walk(house: House, artist: str, pages: int) -> Iterator[Consumed]:
    """The units of each page, in order."""
    cursor: str | None = None

    def read() -> None:
        nonlocal cursor
        book = Book(house.table, house.ledger, TENANT)
        page = book.page(Song.of_artist(artist), limit=PAGE, cursor=cursor)
        if len(page.items) != PAGE:
            raise RuntimeError(f"a page of {len(page.items)}")
        cursor = page.cursor

    for _ in range(pages):
        yield house.measure(read)


def _read_as_peer(house: House, artist: str) -> None:
    """Read a page as seed 001 does: read and fetch every match, sort, cut."""
    plan = house.ledger.current_generation("Song").plan
    listing = next(candidate for candidate in plan.listings if candidate.name == "of_artist")
    (partition,) = item_keys.render_listing_lists(TENANT, plan, listing, [((artist,), 0)])
    pages = house.table.query_pages(Query(partition, index="GSI2"))
    keys = [
        item_keys.parse_derived_partition(row["PK"]["S"]) for page in pages for row in page.items
    ]
    images = house.table.batch_get(keys, retry_budget=RetryBudget.for_seconds(600)).require_all()
    newest = sorted(images.values(), key=lambda item: str(item["created_at"]["S"]), reverse=True)
    if len(newest[:PAGE]) != PAGE:
        raise RuntimeError("the peer found too little")


def main() -> int:
    """Measure and print; return the exit status."""
    with serving() as endpoint:
        is_met = compare_writes(House(endpoint)) & compare_pages(House(endpoint))
    return int(not is_met)


if __name__ == "__main__":
    sys.exit(main())
