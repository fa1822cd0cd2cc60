"""Invoices: found by customer, listed by status and by country, their revenue ranked by country."""

from __future__ import annotations

from typing import Literal

from daicho import Aggregate, Domain, Entity, Key, Listing, Search, Sum, field


class Invoice(Entity):
    """Something that a customer has to pay."""

    id: str = field(min_length=1)
    customer: str = field(min_length=1)
    status: Literal["open", "paid"] = field(default="open")
    country: str = field(min_length=1)
    amount: int = field(ge=0)

    key = Key(id)
    search = Search(customer, param="q")
    by_status = Listing(status)
    by_country = Listing(country)
    revenue = Aggregate(Sum(amount), country, ranked=True, rolled_up="at once")


domain = Domain("invoices", Invoice)
domain.resource("/invoices/{id}", Invoice, "POST GET PATCH DELETE")
domain.mount("/revenue", Invoice.revenue.top)
