"""Books over accounts with unique values, at a time that tests move."""

from __future__ import annotations

import datetime as dt
from typing import Any

from mypy_boto3_dynamodb import DynamoDBClient

from daicho.book.book import Book
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.storage.table import Table
from tests.simulator.oracle.unique_values import UniqueValues, compare_unique_values
from tests.support import account_domains

NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
DOMAIN_PACKAGE = account_domains.__name__
DAICHO = Daicho.discover(account_domains)
LEDGER = DAICHO.append_generations(Ledger())


class Accounts:
    """Books of tenants over one table, and the check of all that is in it."""

    def __init__(self, dynamodb: DynamoDBClient, table_name: str) -> None:
        self.dynamodb, self.table_name = dynamodb, table_name
        self.table = Table(dynamodb, table_name)
        self.now = NOON

    def book(self, tenant: str = "one", ledger: Ledger = LEDGER) -> Book:
        return Book(self.table, ledger, tenant, clock=lambda: self.now)

    def tick(self, **span: float) -> None:
        self.now += dt.timedelta(**span)

    def list_images(self) -> list[Any]:
        pages = self.dynamodb.get_paginator("scan").paginate(TableName=self.table_name)
        return [item for page in pages for item in page["Items"]]

    def compare(self) -> UniqueValues:
        return compare_unique_values(self.list_images(), LEDGER, int(self.now.timestamp()))

    def check(self) -> UniqueValues:
        """Check that there is no difference, and return what was compared."""
        compared = self.compare()
        assert compared.differences == []
        return compared
