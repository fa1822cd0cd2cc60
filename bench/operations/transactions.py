"""Costs of an idempotent request, a move and a checkout, compared with several separate writes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import partial
from typing import Any

from mypy_boto3_dynamodb import DynamoDBClient
from rich.console import Console
from rich.table import Table as Printed

import domains
from daicho.book.book import Book
from daicho.declare.fields import new_id
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.storage.table import Table
from daicho.write.idempotency import IdempotentRequest, StoredAnswer
from domains.carts import CartItem, checkout
from domains.orders import Line, Order
from domains.users import User
from tests.support.dynoxide import create_table
from tests.support.meter import Meter

SIZES = (1, 10, 98)
"""Numbers of items of a checkout."""


class Bench:
    """A metered table, and a new book for each request."""

    def __init__(self, client: DynamoDBClient) -> None:
        self._meter = Meter(client)
        self._table = Table(client, create_table(client))
        self._ledger = Daicho.discover(domains).check_locked(Ledger.load())

    @property
    def book(self) -> Book:
        return Book(self._table, self._ledger, "acme")

    def units(self, work: Callable[[Book], Any]) -> str:
        """Read and write units and the number of requests of the work."""
        with self._meter.counting() as consumed:
            work(self.book)
        requests = sum(consumed.requests.values())
        return f"{consumed.reads:g} + {consumed.writes:g} ({requests})"

    def measure_marked(self, work: Callable[[Book], Any]) -> str:
        """Units of the work with a mark before and an answer after it: three writes, not safe."""
        key = {"PK": {"S": f"mark#{new_id()}"}, "SK": {"S": "-"}}

        def all_of_it(book: Book) -> None:
            self._table.put({**key, "status": {"S": "begun"}}, condition="attribute_not_exists(PK)")
            work(book)
            self._table.put({**key, "status": {"S": "done"}, "body": {"S": "x" * 300}})

        return self.units(all_of_it)


def once(key: str, work: Callable[[Book], Any], book: Book) -> StoredAnswer:
    """A request under an idempotency key, with an answer of 300 bytes."""

    def answer() -> StoredAnswer:
        work(book)
        return StoredAnswer(200, {"ETag": '"1"'}, "x" * 300)

    return book.once(IdempotentRequest.from_http(key, "POST", "/", {}, ""), answer)


def transactions(console: Console, client: DynamoDBClient) -> None:
    """Print the table of costs."""
    bench = Bench(client)
    printed = Printed("", "alone", "under a key", "its repeat", "a mark before and after")
    printed.title = "Requests: read + write units (requests)"
    doing: dict[str, Callable[[Book], Any]] = {
        "create": lambda book: book.create(User(name="Ann")),
        "put what is there": lambda book: book.put(User(id="ann", name="Ann")),
        "change": lambda book: book.change(User.key("ann"), {"age": 7}),
    }
    bench.book.put(User(id="ann", name="Ann"))
    for what, work in doing.items():
        key = new_id()
        keyed = [bench.units(partial(once, key, work)) for _ in range(2)]
        printed.add_row(what, bench.units(work), *keyed, bench.measure_marked(work))
    for size in SIZES:
        key = new_id()
        work = partial(checkout, user="ann")
        cells = []
        for request in (work, partial(once, key, work), partial(once, key, work), None):
            _fill(bench.book, size)
            cells.append(bench.measure_marked(_apart) if request is None else bench.units(request))
        printed.add_row(f"checkout of {size}", *cells)
    for number in range(2):
        bench.book.put(CartItem(user="bob", state="wish", sku=str(number)))
    moves: list[Callable[[Book], Any]] = [
        lambda book: book.change(CartItem.key("bob", "wish", "0"), {"state": "active"}),
        partial(
            once, "m", lambda b: b.change(CartItem.key("bob", "wish", "1"), {"state": "saved"})
        ),
        partial(once, "m", lambda _: None),
    ]
    printed.add_row("move", *(bench.units(move) for move in moves), "")
    console.print(printed)


def _fill(book: Book, size: int) -> None:
    for number in range(size):
        book.put(CartItem(user="ann", sku=f"{number:03d}"))


def _apart(book: Book) -> None:
    """A checkout with a separate request for each write.

    If the process ends between two requests, the checkout is incomplete.
    """
    items = book.page(CartItem.key.under("ann", "active")).items
    lines = [Line(sku=line.sku, quantity=line.quantity) for line in items]
    book.create(Order(date=dt.date(2026, 11, 21), customer="ann", lines=lines))
    for item in items:
        book.delete(CartItem.key("ann", "active", item.sku))
