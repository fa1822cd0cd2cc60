"""A document with its sections, and what stands in the table of it."""

from __future__ import annotations

from typing import Any

from daicho.book.book import Book
from daicho.storage.table import Table
from tests.support.sample_domains.documents import Document


def items(table: Table) -> list[Any]:
    pages = table._client.get_paginator("scan").paginate(TableName=table.name)
    return [item for page in pages for item in page["Items"]]


def sections(table: Table) -> list[Any]:
    return [each for each in items(table) if "#/" in each["PK"]["S"]]


def whole(book: Book, id: str = "d") -> dict[str, Any]:
    return book.get(Document.key(id)).sections


def at(name: str, id: str = "d") -> Any:
    return Document.split(id, section=name)


FIRST: dict[str, Any] = {
    "summary": "Nothing",
    "b": {"deep": [1, 2.5, None, {"": True}]},
    "a#/$ 台😀": [],
    "zero": None,
}
