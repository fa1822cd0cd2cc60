"""Costs of a document in sections: a change of one section compared with the whole document.

``python -m bench.operations.split_documents``. The same document as one item is measured too, if it
fits into one item.

Source: seed 003 (vertical partitioning).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table as Printed

from bench.operations.__main__ import House
from daicho import Domain, Entity, Key, field
from daicho.book.book import Book
from daicho.declare.registry import Daicho
from domains.documents import Document
from tests.support.dynoxide import serving

SECTIONS = (10, 100, 390, 4_000)
TEXT = "a section of less than a KB. " * 30
ITEM_BYTES = 400_000
COLUMNS = ("document", "way", "write units", "read units", "requests")


class OneItem(Entity):
    """The same document in one item."""

    id: str = field()
    sections: dict[str, Any] = field()

    key = Key(id)


DECLARED = Daicho(Domain("bench", Document, OneItem))


def main() -> None:
    """Print all."""
    console = Console(width=140)
    printed = Printed(*COLUMNS, title="A document of sections of 900 bytes each")
    for column in printed.columns[2:]:
        column.justify = "right"
    with serving() as endpoint:
        house = House(endpoint, DECLARED)
        for count in SECTIONS:
            document = {f"section {n:04d}": TEXT for n in range(count)}
            size = len(TEXT) * count
            shown = f"{count} sections, {size / 1_000:,.0f} KB"
            for label, work in _operations(house, document):
                with house.meter.counting() as consumed:
                    work()
                requests = str(sum(consumed.requests.values()))
                units = (f"{consumed.writes:,.0f}", f"{consumed.reads:,.1f}")
                printed.add_row(shown, label, *units, requests)
                shown = ""
            printed.add_section()
    console.print(printed)


def _operations(house: House, document: dict[str, Any]) -> list[tuple[str, Callable[[], object]]]:
    def book() -> Book:
        return Book(house.table, house.ledger, "bench", parallelism=1)

    section = Document.split("d", section="section 0007")
    operations: list[tuple[str, Callable[[], object]]] = [
        ("put whole", lambda: book().put(Document(id="d", sections=document))),
        ("put whole once more", lambda: book().put(Document(id="d", sections=document))),
        ("change one section", lambda: book().put_section(section, TEXT[::-1])),
        ("read one section", lambda: book().section(section)),
        ("read whole", lambda: book().get(Document.key("d"))),
        ("delete", lambda: book().delete(Document.key("d"))),
    ]
    if sum(len(text) + 20 for text in document.values()) < ITEM_BYTES:
        operations += [
            ("as one item: put", lambda: book().put(OneItem(id="d", sections=document))),
            (
                "as one item: change one section",
                lambda: book().change(OneItem.key("d"), {"sections": {**document, "x": 1}}),
            ),
            ("as one item: read", lambda: book().get(OneItem.key("d"))),
        ]
    return operations


if __name__ == "__main__":
    main()
