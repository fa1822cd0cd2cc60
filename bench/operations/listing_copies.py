"""Costs of a listing whose rows copy nothing, some or all of an item; and of a replica index.

``python -m bench.operations.listing_copies``. There is one entity for each choice, with no other
difference. The units include all derived writes through the stream. The replica is the same table
with its own keys as a fourth index.

Source: seed 002 (choose projections carefully; creating a replica).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table as Printed

from bench.operations.__main__ import House
from daicho import Domain, Entity, Key, Listing, field, uid
from daicho.declare.registry import Daicho
from daicho.storage.requests import Query
from tests.support.dynoxide import serving
from tests.support.meter import Consumed

ITEMS = 100
TEXT = "a note of some length. " * 22
LONG = "a document. " * 300


def _kind(copied: str) -> Any:
    """An entity whose rows copy nothing, some or all of an item."""

    class Task(Entity):
        id: str = uid()
        owner: str = field()
        status: str = field(default="open")
        title: str = field(default="Printer on fire")
        note: str = TEXT

        key = Key(id)
        of_owner = Listing(
            owner, copies={"nothing": (), "some": (status, title), "all": all}[copied]
        )

    return Task


KINDS = {copied: _kind(copied) for copied in ("nothing", "some", "all")}


def _house(endpoint: str, kind: Any, *, replica: bool = False) -> House:
    return House(endpoint, Daicho(Domain("bench", kind)), replica=replica)


def copies(console: Console, endpoint: str) -> None:
    """Print units of writes and pages for each choice, without a replica index and with one."""
    for title, note in (("600 bytes", TEXT), ("3.7 KB", LONG)):
        printed = Printed(
            "copies", "create", "edit copied", "edit other", "page of 100", "requests"
        )
        printed.title = f"Items of about {title}: write units an item, read units a page"
        for name, kind in KINDS.items():
            printed.add_row(name, *_measured(_house(endpoint, kind), kind, note))
        bare = KINDS["nothing"]
        printed.add_row(
            "nothing, with a replica",
            *_measured(_house(endpoint, bare, replica=True), bare, note),
        )
        console.print(printed)


def _measured(house: House, kind: Any, note: str) -> list[str]:
    book = house.book
    ids = [f"i{number:03d}" for number in range(ITEMS)]

    def create() -> None:
        for id in ids:
            book.create(kind(id=id, owner="o", note=note))

    def edit(**changes: str) -> Callable[[], None]:
        def work() -> None:
            for id in ids:
                book.change(kind.key(id), changes)

        return work

    cells = []
    for work in (create, edit(status="done"), edit(note=note.upper())):
        written = _counted(house, work).writes + _counted(house, house.project).writes
        cells.append(f"{written / ITEMS:.1f}")
    names = ("id", "status", "title")
    page = _counted(
        house,
        lambda: (
            book.views(kind.of_owner("o"), names=names)
            if kind is KINDS["some"]
            else book.page(kind.of_owner("o"))
        ),
    )
    return [*cells, f"{page.reads:.1f}", f"{sum(page.requests.values())}"]


def replica_reads(console: Console, endpoint: str) -> None:
    """Print the read units of one item and of one partition, from the table and its replica."""
    bare = KINDS["nothing"]
    house = _house(endpoint, bare, replica=True)
    house.book.create(bare(id="i", owner="o", note=LONG))
    printed = Printed("read one item of 3.7 KB", "read units")
    (base,) = (item for item in _items(house) if "type" in item)
    for label, query in (
        ("table, strongly consistent", Query(base["PK"]["S"], consistent=True)),
        ("table", Query(base["PK"]["S"])),
        ("replica", _Replica(base["PK"]["S"])),
    ):
        consumed = _counted(house, lambda query=query: house.table.query(query))  # type: ignore[misc]
        printed.add_row(label, f"{consumed.reads:.1f}")
    console.print(printed)


class _Replica(Query):
    """A query of the replica. Its keys have the same names as the keys of the table."""

    def to_request(self) -> dict[str, Any]:
        return super().to_request() | {"IndexName": "Replica"}


def _items(house: House) -> list[Any]:
    return house.client.scan(TableName=house.name, IndexName="Replica")["Items"]


def _counted(house: House, work: Callable[[], object]) -> Consumed:
    with house.meter.counting() as consumed:
        work()
    return consumed


def main() -> None:
    """Print all."""
    console = Console(width=110)
    with serving() as endpoint:
        copies(console, endpoint)
        replica_reads(console, endpoint)


if __name__ == "__main__":
    main()
