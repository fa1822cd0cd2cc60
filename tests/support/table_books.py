"""Books of tenants over one table, at a time that tests move."""

from __future__ import annotations

import datetime as dt
from typing import Any, ClassVar

from mypy_boto3_dynamodb import DynamoDBClient

from daicho.book.book import Book
from daicho.plan import Ledger
from daicho.storage.table import Table
from tests.support.derived_state import derive_all, items_of

NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)


class TableBooks:
    """The books, with the generations of ``ledger``."""

    ledger: ClassVar[Ledger]

    def __init__(self, dynamodb: DynamoDBClient, table_name: str) -> None:
        self.dynamodb, self.table_name = dynamodb, table_name
        self.table = Table(dynamodb, table_name)
        self.now = NOON

    def book(self, tenant: str = "one", ledger: Ledger | None = None) -> Book:
        """A book that has read nothing."""
        return Book(self.table, ledger or self.ledger, tenant, clock=lambda: self.now)

    def tick(self, seconds: float = 1, **span: float) -> None:
        """Let time pass: a second, or a span."""
        self.now += dt.timedelta(**span) if span else dt.timedelta(seconds=seconds)

    def caught_up(self) -> Book:
        """A book of a table whose derived items are what they should be."""
        derive_all(self.dynamodb, self.table_name, self.ledger)
        return self.book()

    def everything(self) -> list[Any]:
        """All items of the table."""
        return list(items_of(self.dynamodb, self.table_name))
