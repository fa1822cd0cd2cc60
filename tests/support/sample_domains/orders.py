"""A partition in a fixed number of shards, a listing whose rows copy fields, and a ranked sum."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, Field

from daicho import (
    Aggregate,
    Domain,
    Entity,
    Key,
    Listing,
    Sum,
    created_at,
    field,
    month,
    one_of,
    uid,
)


class Line(BaseModel):
    """A product with its quantity."""

    sku: str = Field(min_length=1, max_length=200)
    quantity: int = Field(default=1, ge=1, le=1_000_000)
    price: Decimal = Field(default=Decimal(0), ge=0, max_digits=12, decimal_places=2)


class Order(Entity):
    """The orders of a day are one list."""

    id: str = uid()
    date: dt.date = field()
    customer: str = field()
    status: Literal["open", "shipped"] = field(default="open")
    lines: list[Line] = field(factory=list, frozen=True, max_length=100)
    total: Decimal = field(default=Decimal(0), ge=0, decimal_places=2)

    key = Key(date, id, shards=3)
    of_customer = Listing(customer, order=(date, created_at), copies=(status, total))
    open = Listing(customer, order=(date, created_at), where=one_of(status, "open"))
    revenue = Aggregate(Sum(total), customer, within=month(date), ranked=True)


domain = Domain("orders", Order, examples={"customer": "mika", "price": "24.90", "sku": "lp"})
domain.resource("/orders/{id}", Order, "POST GET PATCH LIST")
domain.mount("/customers/{customer}/orders", Order.of_customer)
domain.mount("/customers/{customer}/orders?open=true", Order.open)
domain.mount("/revenue/{month}", Order.revenue.top)
