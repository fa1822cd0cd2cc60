"""Costs of versions: by copy, by pointer, and none, at three sizes of an item."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from mypy_boto3_dynamodb import DynamoDBClient
from rich.console import Console
from rich.table import Table as Printed

from daicho import Domain, Entity, Key, Versioned, uid
from daicho.book.book import Book
from daicho.declare.registry import Daicho
from daicho.layout import versions as laid
from daicho.plan import Ledger
from daicho.storage.item_key import ItemKey
from daicho.storage.table import Table
from tests.support.dynoxide import create_table
from tests.support.meter import Meter

SIZES = (500, 3_500, 40_000)
"""Bytes of text. A unit writes 1 KB and reads 4."""
VERSIONS = 20


class Plain(Entity):
    """No versions."""

    id: str = uid()
    text: str

    key = Key(id)


class Copied(Entity):
    """The item holds everything."""

    id: str = uid()
    text: str

    key = Key(id)
    versions = Versioned("copy")


class Pointed(Entity):
    """The item holds the number."""

    id: str = uid()
    text: str

    key = Key(id)
    versions = Versioned("pointer")


KINDS: tuple[Any, ...] = (Plain, Copied, Pointed)
LEDGER = Daicho(Domain("bench", *KINDS)).append_generations(Ledger())


@dataclass
class Bench:
    """A metered table and a book."""

    client: DynamoDBClient

    def __post_init__(self) -> None:
        self.meter = Meter(self.client)
        self.table = Table(self.client, create_table(self.client))
        self.book = Book(self.table, LEDGER, "acme")

    def units(self, work: Callable[[], object]) -> str:
        """Read and write units and the number of requests of the work."""
        with self.meter.counting() as consumed:
            work()
        requests = sum(consumed.requests.values())
        return f"{consumed.reads:g} + {consumed.writes:g} ({requests})"


def versions(console: Console, client: DynamoDBClient) -> None:
    """Print the table of costs."""
    bench = Bench(client)
    printed = Printed("text", "", "none", "copy", "pointer")
    printed.title = "Versions: read + write units (requests)"
    for size in SIZES:
        rows: dict[str, list[str]] = {}
        for kind in KINDS:
            for what, units in _costs(bench, kind, size).items():
                rows.setdefault(what, []).append(units)
        for what, cells in rows.items():
            printed.add_row(f"{size:,} bytes", what, *cells)
    console.print(printed)


def _costs(bench: Bench, kind: Any, size: int) -> dict[str, str]:
    book, id = bench.book, f"i{size}"
    one, text = kind.key(id), "x" * size
    costs = {
        "create": bench.units(lambda: book.create(kind(id=id, text=text))),
        "replace": bench.units(lambda: book.put(kind(id=id, text=text))),
        "change": bench.units(lambda: book.change(one, {"text": text})),
        "newest": bench.units(lambda: book.get(one)),
    }
    costs["newest, the seed's way"] = bench.units(partial(_through, bench, kind, id))
    if kind is not Plain:
        for _ in range(VERSIONS - 3):
            book.change(one, {"text": text})
        costs["version 2"] = bench.units(lambda: book.get(kind.versions.at(id, version=2)))
        costs[f"all {VERSIONS}"] = bench.units(lambda: book.page(kind.versions(id)))
        costs["restore"] = bench.units(lambda: book.restore(kind.versions.at(id, version=2)))
    else:
        for what in ("version 2", f"all {VERSIONS}", "restore"):
            costs[what] = ""
    costs["remove"] = bench.units(lambda: book.delete(one))
    if kind is not Plain:
        costs[f"forget {VERSIONS + 1}"] = bench.units(lambda: book.forget(one))
    else:
        costs[f"forget {VERSIONS + 1}"] = ""
    return costs


def _through(bench: Bench, kind: Any, id: str) -> None:
    """Read the item, and then the version that it points at (seed 002, pattern B)."""
    base = ItemKey(f"acme#{kind.__name__}#{id}", "-")
    item = bench.table.get(base, consistent=True)
    if item is not None and kind is Pointed:
        number = int(item["version"]["N"])
        bench.table.get(laid.build_version_key(base, kind.__name__, number), consistent=True)
