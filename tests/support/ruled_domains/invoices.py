"""Invoices with every rule, and what copies from them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from daicho import (
    Aggregate,
    Check,
    Domain,
    Entity,
    Key,
    Listing,
    Split,
    Sum,
    Versioned,
    computed,
    copied,
    field,
    now,
    one_of,
    ref,
    uid,
)

Status = Literal["draft", "open", "paid", "void"]
STATES = {None: ("draft", "open"), "draft": ("open", "void"), "open": ("paid", "void")}


class Line(BaseModel):
    """A line of an invoice. ``weight`` keeps the places that it is given with."""

    price: Annotated[Decimal, Field(decimal_places=2, gt=0)]
    quantity: int = 1
    weight: Decimal | None = None


def total_of(lines: list[Line]) -> Decimal:
    """The sum of the lines."""
    if len(lines) > 3:
        raise ValueError("an invoice has at most 3 lines")
    return sum((line.price * line.quantity for line in lines), Decimal(0))


def gross_of(total: Decimal, rate: Decimal) -> Decimal:
    """The total with the tax."""
    return total * (1 + rate)


def is_due_after_issue(issued: dt.date, due: dt.date) -> str | None:
    """Whether an invoice is due after it was issued."""
    return None if due >= issued else "an invoice is due on the day it is issued, or later"


def is_within_limit(total: Decimal, limit: Decimal) -> str | None:
    """Whether a customer may be asked for the total."""
    return None if total <= limit else f"the total {total} exceeds the customer's limit {limit}"


def count_words(text: str) -> int:
    """The number of words of a text."""
    return len(text.split())


class Customer(Entity):
    """Someone who receives invoices."""

    id: str = uid()
    limit: Decimal = field(default=Decimal("1000.000"))

    key = Key(id)


class Invoice(Entity):
    """An invoice: its total is computed, its dates are checked, its status has transitions."""

    id: str = uid()
    customer: str = ref(Customer)
    limit: Decimal = copied(customer, Customer.limit)
    status: Status = field(default="draft", transitions=STATES)
    made: dt.datetime = field(factory=now, frozen=True)
    issued: dt.date = field()
    due: dt.date = field()
    rate: Decimal = field(default=Decimal("0.10"), ge=0)
    lines: list[Line] = field(factory=list)
    total: Decimal = computed(total_of, lines, decimal_places=2)
    gross: Decimal = computed(gross_of, total, rate)

    key = Key(id)
    of_status = Listing(status, copies=(total, gross))
    revenue = Aggregate(Sum(total), customer, where=one_of(status, "open", "paid"))
    due_after_issue = Check(is_due_after_issue, issued, due)
    within_limit = Check(is_within_limit, total, limit)


class Ticket(Entity):
    """Moves when its state changes."""

    queue: str = field()
    state: Literal["new", "done"] = field(transitions={None: ("new",), "new": ("done",)})
    id: str = uid()

    key = Key(queue, state, id, moves=state)


class Parcel(Entity):
    """Has nothing that is set once: a PUT of it is one request."""

    id: str = uid()
    state: Literal["packed", "sent"] = field(
        default="packed", transitions={None: ("packed",), "packed": ("sent",)}
    )

    key = Key(id)


class Draft(Entity):
    """Keeps its versions."""

    id: str = uid()
    state: Literal["written", "sent"] = field(
        default="written", transitions={None: ("written",), "written": ("sent",)}
    )
    text: str = field(default="")
    words: int = computed(count_words, text)

    key = Key(id)
    versions = Versioned("copy")


class Folder(Entity):
    """Its sections are lines."""

    id: str = uid()
    lines: dict[str, Line] = field()

    key = Key(id)
    split = Split(lines)


domain = Domain("invoices", Customer, Invoice, Ticket, Parcel, Draft, Folder)
domain.resource("/customers/{id}", Customer, "POST GET PUT")
domain.resource("/invoices/{id}", Invoice, "POST GET PUT PATCH DELETE")
domain.resource("/tickets/{queue}/{state}/{id}", Ticket, "PUT GET PATCH")
domain.resource("/parcels/{id}", Parcel, "PUT GET")
domain.resource("/folders/{id}", Folder, "PUT GET")
domain.resource("/drafts/{id}", Draft, "PUT GET PATCH DELETE")
domain.mount("/revenue/{customer}", Invoice.revenue)
