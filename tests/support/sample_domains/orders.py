"""A partition in a fixed number of shards, and a listing whose rows copy fields."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, Field

from daicho import Domain, Entity, Key, Listing, created_at, field, one_of, uid


class Line(BaseModel):
    """A product with its quantity."""

    sku: str = Field(min_length=1, max_length=200)
    quantity: int = Field(default=1, ge=1, le=1_000_000)


class Order(Entity):
    """The orders of a day are one list."""

    id: str = uid()
    date: dt.date = field()
    customer: str = field()
    status: Literal["open", "shipped"] = field(default="open")
    lines: list[Line] = field(factory=list, frozen=True, max_length=100)
    total: Decimal = field(default=Decimal(0), ge=0)

    key = Key(date, id, shards=3)
    of_customer = Listing(customer, order=(date, created_at), copies=(status, total))
    open = Listing(customer, order=(date, created_at), where=one_of(status, "open"))


domain = Domain("orders", Order, examples={"customer": "mika", "sku": "lp-heroes"})
domain.resource("/orders/{id}", Order, "POST GET PATCH LIST")
domain.mount("/customers/{customer}/orders", Order.of_customer)
domain.mount("/customers/{customer}/orders?open=true", Order.open)
