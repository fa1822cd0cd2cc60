"""Orders (seed 002): all of a hot date over shards by calculated suffix, and what is still open."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, Field

from daicho import (
    Addressable,
    Book,
    Day,
    Domain,
    Entity,
    Key,
    Listing,
    created_at,
    field,
    one_of,
    ref,
    uid,
)
from domains.users import User

Status = Literal["open", "shipped", "cancelled"]


class Line(BaseModel):
    """A product with its quantity and unit price."""

    sku: str = Field(min_length=1, max_length=200)
    quantity: int = Field(default=1, ge=1, le=1_000_000)
    price: Decimal = Field(default=Decimal(0), ge=0, max_digits=12, decimal_places=2)


class Order(Entity):
    """An order of a day. The orders of a day are one list, oldest first."""

    id: str = uid()
    date: dt.date = field()
    customer: str = ref(User)
    status: Status = field(default="open")
    lines: list[Line] = field(factory=list, frozen=True, max_length=100)
    total: Decimal = field(default=Decimal(0), frozen=True, ge=0, decimal_places=2)

    key = Key(date, id, shards=10)
    of_customer = Listing(customer, order=(date, created_at), copies=(status, total))
    of_id = Listing(id)
    of_status = Listing(status, order=(date, created_at), shards=10)
    by_date = Listing(order=(date, created_at), shards=10)
    open = Listing(customer, order=(date, created_at), where=one_of(status, "open"))


class NewOrder(BaseModel):
    """A new order. Its total is computed from its lines."""

    date: Day
    customer: Addressable = Field(min_length=1, max_length=200)
    lines: list[Line] = Field(default=[], max_length=100)
    status: Status = "open"


domain = Domain("orders", Order, examples={
    "customer": "mika", "price": "24.90", "quantity": 2, "sku": "lp-heroes",
})  # fmt: skip
domain.resource("/orders/{id}", Order, "GET PATCH LIST")
for path in ("/users/{customer}/orders", "/customers/{customer}/orders"):
    domain.mount(path, Order.of_customer)
    domain.mount(f"{path}?open=true", Order.open)


@domain.route("POST", "/orders")
def place(book: Book, order: NewOrder) -> Order:
    """Place an order; its total is computed from its lines."""
    new_order = Order(
        date=order.date,
        customer=order.customer,
        status=order.status,
        lines=order.lines,
        total=total_of(order.lines),
    )
    return book.create(new_order)


def total_of(lines: Iterable[Line]) -> Decimal:
    """What lines cost together."""
    return sum((line.price * line.quantity for line in lines), Decimal(0))
