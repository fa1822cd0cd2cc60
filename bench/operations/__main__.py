"""Costs of a write with all derived writes, and costs of a page as lists grow.

They are measured on Dynoxide, through the real Book, projector and rollup. The peer of the pages is
the algorithm that seed 001 describes: read every match, fetch them all, sort in memory, cut.
"""

from __future__ import annotations

import datetime as dt
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table as Printed

import domains
from bench.operations.attribute_items import layouts
from bench.operations.transactions import transactions
from bench.operations.versions import versions
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
ROUNDS = 5
TENANT = "acme"
console = Console(width=110)


@dataclass
class House:
    """A table with a book, a projector and a rollup."""

    endpoint: str
    declared: Daicho | None = None
    replica: bool = False

    def __post_init__(self) -> None:
        self.client = client(self.endpoint)
        self.name = create_table(self.client, replica=self.replica)
        self.meter = Meter(self.client)
        self.table = Table(self.client, self.name)
        if self.declared is None:
            self.ledger = Daicho.discover(domains).check_locked(Ledger.load())
        else:
            self.ledger = self.declared.append_generations(Ledger())
        self.book = Book(self.table, self.ledger, TENANT)
        failures = open_bucket("failures")  # nothing here is poison, so nothing goes there
        self._projector = Projector(self.table, failures, self.ledger, dirty_shards=16)
        self._rollup = Rollup(self.table, self.ledger, dirty_shards=16)
        consumer = Consumer(self._project, self.ledger.derived_types)
        self._pump = Pump(self.client, self.endpoint, self.name, [consumer])

    def project(self) -> None:
        """Project all records of the stream."""
        self._pump.run()

    def roll_up(self) -> None:
        """Roll up all dirty tallies."""
        self._rollup.run(RetryBudget.for_seconds(600))

    def _project(self, event: Any, _context: Any) -> dict[str, Any]:
        if self._projector.project(Batch.parse(event), RetryBudget.for_seconds(600)) is not None:
            raise RuntimeError("not projected")
        return {"batchItemFailures": []}


def write_costs(house: House) -> None:
    """Print write units of an item: the base item, its derived items, slots, rollup."""
    book = house.book
    book.create(Artist(id="a0", name="Artist"))
    for group in range(GROUPS):
        book.create(Song(id=f"s{group}", title="x", artist="a0", released=1977))
    candidates = [f"c{number}" for number in range(4)]
    book.create(Poll(id="p", candidates=candidates, counting="exact", shards=8))
    house.project()
    moment = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
    makers: dict[str, Callable[[int], Entity]] = {
        "artist (prefix search, whole name)": lambda n: Artist(name=f"Deep Purple {n}"),
        "album (2 listings)": lambda n: Album(title=f"Album {n}", artist="a0", genre="Rock"),
        "song (3 listings)": lambda n: Song(title=f"Song {n}", artist="a0", released=1977),
        "track (edge, both ends)": lambda n: Track(playlist=f"p{n % 10}", song=f"s{n}"),
        "message (no subject, counted, expires)": lambda n: Message(text=f"message {n}"),
        "download (2 ranked counts)": lambda n: Download(song=f"s{n % GROUPS}", at=moment),
        "vote (1 ranked count)": lambda n: Ballot(
            poll="p", voter=f"v{n}", candidate=candidates[n % 4]
        ),
    }
    printed = Printed("item", "base", "derived, slots", "rollup", "sum", "$ a million")
    printed.title = f"Write units an item ({ITEMS} items in one batch, {GROUPS} songs)"
    for what, make in makers.items():
        base = _metered(house, partial(_create, book, make))
        printed.add_row(what, *_row(house, base))
    _remove(house, "Message")
    # DynamoDB's TTL process deletes the item for nothing; what was derived becomes a tombstone.
    printed.add_row("that message, when it expires", *_row(house, Consumed()))
    console.print(printed)


def _row(house: House, base: Consumed) -> list[str]:
    """Units of the base items, of the derived items and of the rollup, and their sum."""
    derived = _metered(house, house.project)
    rolled = _metered(house, house.roll_up)
    units = [consumed.writes / ITEMS for consumed in (base, derived, rolled)]
    total = sum(units)
    cost = f"{total * DOLLARS_A_MILLION_WRITES:.2f}"
    return [*(f"{value:.2f}" for value in (*units, total)), cost]


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


def _metered(house: House, work: Callable[[], object]) -> Consumed:
    with house.meter.counting() as consumed:
        work()
    return consumed


def page_costs(house: House) -> str:
    """Print the cost of a page as a list grows, and return the growth as a line."""
    printed = Printed("songs of the artist", "page", "units", "requests", "ms", "peer units", "ms ")
    printed.title = f"A page of {PAGE}, against reading every match and sorting "
    ours: list[float] = []
    last_ratio = 0.0
    for size in SIZES:
        artist = f"artist-{size}"
        _fill(house, artist, size)
        pages = list(_walk(house, artist, size // PAGE // 2))
        for label, (consumed, ms) in (("1", pages[0]), (str(size // PAGE // 2), pages[-1])):
            peer, peer_ms = _timed(house, partial(_peer, house, artist))
            requests = sum(consumed.requests.values())
            last_ratio = peer.reads / consumed.reads
            numbers = f"{consumed.reads:.1f}", str(requests), f"{ms:.0f}"
            row = (*numbers, f"{peer.reads:.1f}", f"{peer_ms:.0f}")
            printed.add_row(f"{size:,}", label, *row)
        ours.append(pages[0][0].reads)
    console.print(printed)
    cost = ours[-1] * DOLLARS_A_MILLION_READS
    return (
        f"a million pages cost {cost:.2f} dollars; "
        f"page 1, units at {SIZES[-1]:,} over units at {SIZES[0]:,}: {ours[-1] / ours[0]:.2f}; "
        f"the peer needs {last_ratio:.0f} times as many units at {SIZES[-1]:,}"
    )


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

    blocks = list(_blocks(items(), 25))
    for block in track(blocks, f"{size:,} songs", console=console, transient=True):
        request = {house.name: [{"PutRequest": {"Item": item}} for item in block]}
        house.client.batch_write_item(RequestItems=request)  # type: ignore[arg-type]


def _walk(house: House, artist: str, pages: int) -> Iterator[tuple[Consumed, float]]:
    """Read the pages in order.

    The first and the last page are measured several times, and their median is used.
    """
    cursor: str | None = None
    for number in range(1, pages + 1):
        rounds = ROUNDS if number in (1, pages) else 1
        turn = partial(_page, house, artist, cursor)
        measured = [_timed(house, turn) for _ in range(rounds)]
        yield measured[0][0], statistics.median(ms for _, ms in measured)
        cursor = _page(house, artist, cursor)


def _page(house: House, artist: str, cursor: str | None) -> str | None:
    book = Book(house.table, house.ledger, TENANT)
    page = book.page(Song.of_artist(artist), limit=PAGE, cursor=cursor)
    if len(page.items) != PAGE:
        raise RuntimeError(f"a page of {len(page.items)}")
    return page.cursor


def _peer(house: House, artist: str) -> None:
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


def _timed(house: House, work: Callable[[], object]) -> tuple[Consumed, float]:
    began = time.perf_counter()
    consumed = _metered(house, work)
    return consumed, (time.perf_counter() - began) * 1000


def _blocks(values: Iterable[Any], size: int) -> Iterator[list[Any]]:
    rest = iter(values)
    while block := list(islice(rest, size)):
        yield block


def main() -> None:
    """Print all."""
    with serving() as endpoint:
        write_costs(House(endpoint))
        figure = page_costs(House(endpoint))
        house = House(endpoint)
        layouts(console, house.client, house.book, house.project)
        versions(console, house.client)
        transactions(console, house.client)
    console.print(figure)


if __name__ == "__main__":
    main()
