"""Invoices of a service: numbered, moved from state to state, owned, due, and summed up."""

# ruff: noqa: I001  # the names of the library, in few lines
import datetime as dt
from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, Field

from daicho import (
    Aggregate, Check, Domain, Entity, Expires, Frozen, Key, Listing, Mean, Search, Sum, Unique,
    changed_at, computed, day, field, month, one_of, owned_by_caller, transition, uid,
)  # fmt: skip


class Line(BaseModel):
    text: str = Field(min_length=1, max_length=200)
    quantity: int = Field(default=1, ge=1, le=10_000)
    price: Decimal = Field(ge=0, max_digits=12, decimal_places=2)


def total_of(lines: list[Line]) -> Decimal:
    return sum((line.quantity * line.price for line in lines), Decimal(0))


def check_due(issued: dt.date, due: dt.date) -> str | None:
    return "must not be before the day of issue" if due < issued else None


class Invoice(Entity):
    """An invoice. It belongs to the user who has created it."""

    id: str = uid()
    owner: str = owned_by_caller()
    number: str = field(min_length=1, max_length=40)
    customer: str = field(max_length=200)
    country: str = field(min_length=2, max_length=2)
    currency: Literal["EUR", "JPY", "USD"] = field(default="EUR")
    status: Literal["draft", "open", "paid", "void"] = field(default="draft", transitions={
        None: ("draft", "open"), "draft": ("open", "void"),
        "open": (transition("paid", role="accountant", once=True), "void"),
    })  # fmt: skip
    issued: dt.date = field()
    due: dt.date = field()
    lines: list[Line] = field(min_length=1, max_length=100)
    total: Decimal = computed(total_of, lines, decimal_places=2)

    key = Key(id)
    numbered = Unique(number, fold=True)
    due_after_issue = Check(check_due, issued, due)
    settled = Frozen(lines, currency, when=one_of(status, "paid"), deletable=False)
    search = Search(customer, param="q")
    mine = Listing(owner)
    overdue = Listing(order=due, where=one_of(status, "open"))
    revenue = Aggregate(Sum(total), country, within=month(issued), ranked=True,
                        where=one_of(status, "paid"), on_expiry="subtract")  # fmt: skip
    sums = Aggregate((Sum(total), Mean(total)), currency, series=day(issued),
                     where=one_of(status, "paid"), on_expiry="subtract")  # fmt: skip
    expires = Expires(dt.timedelta(days=30), of=changed_at, where=one_of(status, "void"))


domain = Domain("invoices", Invoice)
domain.access(Invoice, read=("owner", "accountant"), write=("owner", "accountant"))
domain.resource("/invoices/{id}", Invoice, "POST GET PATCH DELETE", role={"DELETE": "accountant"})
domain.mount("/invoice-revenue/{month}", Invoice.revenue.top)
domain.mount("/invoice-sums/{currency}", Invoice.sums)
