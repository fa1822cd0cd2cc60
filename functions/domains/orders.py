"""Orders (seed 002): all of a hot date over shards by calculated suffix, and what is still open."""

from __future__ import annotations

import datetime as dt
from typing import Literal

from daicho import Domain, Entity, Key, Listing, field, one_of, uid


class Order(Entity):
    """An order of a day. The day's orders are one list, in the order that they came."""

    id: str = uid()
    date: dt.date = field()
    customer: str = field(min_length=1, max_length=200)
    status: Literal["open", "shipped", "cancelled"] = field(default="open")

    key = Key(date, id, shards=10)
    of_customer = Listing(customer)
    open = Listing(customer, where=one_of(status, "open"))


domain = Domain("orders", Order)
domain.resource("/orders/{id}", Order, "POST GET PATCH LIST")
domain.answer("/customers/{customer}/orders", Order.of_customer)
domain.answer("/customers/{customer}/orders?open=true", Order.open)
