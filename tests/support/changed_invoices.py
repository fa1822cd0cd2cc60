"""Invoices whose declarations change, and a stage on which each change is deployed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field as attribute
from typing import Any

from mypy_boto3_dynamodb import DynamoDBClient

from daicho import Aggregate, Domain, Entity, Key, Listing, Search, Sum, field, month, uid
from daicho.book.book import Book
from daicho.declare.registry import Daicho
from daicho.layout.backfill_state import BackfillState
from daicho.plan import Decisions, Ledger, Migration
from daicho.storage.table import Table
from tests.support.derived_state import count_all, derive_all

NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
ANNOTATIONS: dict[str, Any] = {
    "id": str,
    "customer": str,
    "status": str,
    "country": str,
    "amount": int,
    "at": dt.datetime,
}


def declare_invoice(change: Callable[[dict[str, Any]], object] = lambda body: None) -> type[Any]:
    """An invoice with a listing by status, a search of customers and a monthly revenue."""
    fields = {name: uid() if name == "id" else field() for name in ANNOTATIONS}
    body: dict[str, Any] = {"__annotations__": dict(ANNOTATIONS), "__module__": __name__, **fields}
    body["key"] = Key(fields["id"])
    body["by_status"] = Listing(fields["status"])
    body["search"] = Search(fields["customer"])
    body["revenue"] = Aggregate(
        Sum(fields["amount"]), fields["country"], within=month(fields["at"]), ranked=True
    )
    change(body)
    return type("Invoice", (Entity,), body)


@dataclass
class Stage:
    """A table, and the code that is deployed on it."""

    dynamodb: DynamoDBClient
    name: str
    ledger: Ledger = attribute(default_factory=Ledger)
    entity: type[Any] = Entity
    migrations: tuple[Migration, ...] = ()

    def deploy(
        self,
        change: Callable[[dict[str, Any]], object] = lambda body: None,
        decisions: Decisions = Decisions(),  # noqa: B008  # immutable
    ) -> None:
        """Deploy changed declarations, with a new generation if they need one."""
        self.entity = declare_invoice(change)
        daicho = self.daicho
        self.ledger = daicho.check_locked(daicho.append_generations(self.ledger, decisions))
        self.set_state(oldest=1, newest=self.ledger.newest_generation("Invoice").number)

    def roll_back(self, change: Callable[[dict[str, Any]], object] = lambda body: None) -> None:
        """Deploy earlier declarations with the newest ledger."""
        self.entity = declare_invoice(change)
        self.ledger = self.daicho.check_locked(self.ledger)

    @property
    def daicho(self) -> Daicho:
        """What the deployed code declares, with its field migrations."""
        named = {each.id: each for each in self.migrations}
        return Daicho(Domain("test", self.entity), migrations=named)

    @property
    def book(self) -> Book:
        return Book(Table(self.dynamodb, self.name), self.ledger, "t", clock=lambda: NOON)

    def write(self, id: str, **values: Any) -> None:
        """Write an invoice, and let the stream catch up."""
        given = {
            "customer": "Ada",
            "status": "open",
            "country": "jp",
            "amount": 100,
            "at": NOON,
            **values,
        }
        self.book.put(self.entity(id=id, **given))
        self.catch_up()

    def catch_up(self) -> None:
        derive_all(self.dynamodb, self.name, self.ledger)
        count_all(self.dynamodb, self.name, self.ledger)

    def set_state(self, oldest: int, newest: int) -> None:
        """Write the backfill item as a rebuild does when it has finished."""
        item = BackfillState("Invoice", oldest, newest).to_item()
        self.dynamodb.put_item(TableName=self.name, Item=item)

    def list(self, query: Any, **options: Any) -> list[str]:
        return [item.id for item in self.book.page(query, **options).items]

    def read_revenue(self, country: str = "jp") -> tuple[int, int | None]:
        score = self.book.read(self.entity.revenue(NOON, country), ranked=True)
        return int(score.total), score.rank


def add_note(body: dict[str, Any]) -> None:
    """Declare one more field, with a default."""
    body["__annotations__"]["note"] = str
    body["note"] = field(default="none")
