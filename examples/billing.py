"""Billing: customers, plans, subscriptions, and invoices that are paid once and get a receipt."""

# ruff: noqa: I001  # the names of the library, in few lines
import datetime as dt
from decimal import Decimal
from typing import Any, Literal

from pydantic import BaseModel, Field

from daicho import (
    Aggregate, Book, ChangeCheck, Check, Domain, Entity, Event, Frozen, Key, Listing, Search, Sum,
    Unique, became, computed, copied, field, month, one_of, ref, transition, uid,
)  # fmt: skip

ACCOUNTANT = "accountant"


class Line(BaseModel):
    text: str = Field(min_length=1, max_length=200)
    quantity: int = Field(default=1, ge=1, le=10_000)
    price: Decimal = Field(ge=0, max_digits=12, decimal_places=2)


def total_of(lines: list[Line]) -> Decimal:
    return sum((line.quantity * line.price for line in lines), Decimal(0))


def check_due(issued: dt.date, due: dt.date) -> str | None:
    return "must not be before the day of issue" if due < issued else None


def check_payment(paid_on: dt.date | None, status: str) -> str | None:
    if (status == "paid") == (paid_on is not None):
        return None
    return "is given exactly when the invoice is paid"


def check_upgrade(old: Any, new: Any) -> str | None:
    """A subscription that has ended does not begin again."""
    return "the subscription has ended" if old.ended and new.ended != old.ended else None


class Plan(Entity):
    """What a customer subscribes to. Only accountants change its price."""

    id: str = field(min_length=1, max_length=40)
    name: str = field(max_length=100)
    price: Decimal = field(ge=0, max_digits=12, decimal_places=2, write=ACCOUNTANT)

    key = Key(id)


class Customer(Entity):
    """Found by name; no other customer has its address. It is kept while it has invoices."""

    id: str = uid()
    name: str = field(min_length=1, max_length=200)
    email: str = field(max_length=200, pattern=r"[^@\s]+@[^@\s]+")

    key = Key(id)
    addressed = Unique(email, fold=True)
    search = Search(name, param="q")


class Subscription(Entity):
    """A plan of a customer. It is deleted with its customer."""

    id: str = uid()
    customer: str = ref(Customer, must_exist=True, on_delete="cascade")
    plan: str = ref(Plan, must_exist=True, on_delete="refuse")
    begun: dt.date = field(frozen=True)
    ended: dt.date | None = field(default=None)

    key = Key(id)
    ends_once = ChangeCheck(check_upgrade, ended)
    of_customer = Listing(customer)


class Invoice(Entity):
    """Paid once, by an accountant. Then its lines and its date stay, and so does it."""

    id: str = uid()
    customer: str = ref(Customer, must_exist=True, on_delete="refuse")
    name: str = copied(customer, Customer.name)
    plan: str = ref(Plan, must_exist=True, on_delete="refuse")
    status: Literal["draft", "open", "paid", "void"] = field(default="draft", transitions={
        None: ("draft", "open"), "draft": ("open", "void"),
        "open": (transition("paid", role=ACCOUNTANT, once=True), "void"),
    })  # fmt: skip
    issued: dt.date = field()
    due: dt.date = field()
    paid_on: dt.date | None = field(default=None, write=ACCOUNTANT)
    lines: list[Line] = field(min_length=1, max_length=100)
    total: Decimal = computed(total_of, lines, decimal_places=2)

    key = Key(id)
    due_after_issue = Check(check_due, issued, due)
    paid_with_date = Check(check_payment, paid_on, status)
    settled = Frozen(lines, plan, customer, paid_on,
                     when=one_of(status, "paid", "void"), deletable=False)  # fmt: skip
    search = Search(name, param="q")
    of_customer = Listing(customer, order=issued)
    overdue = Listing(order=due, where=one_of(status, "open"))
    revenue = Aggregate(Sum(total), plan, within=month(issued), ranked=True,
                        where=one_of(status, "paid"))  # fmt: skip


class Receipt(Entity):
    """What a customer has paid. The function below writes it, and nobody else."""

    invoice: str = ref(Invoice)
    customer: str = ref(Customer)
    paid_on: dt.date = field()
    total: Decimal = field(decimal_places=2)
    booked_by: str | None = field(default=None)

    key = Key(invoice)
    of_customer = Listing(customer, order=paid_on)


domain = Domain("billing", Plan, Customer, Subscription, Invoice, Receipt)
domain.access(Plan, read="tenant", write="tenant")
domain.resource("/plans/{id}", Plan, "PUT GET PATCH DELETE")
domain.resource("/customers/{id}", Customer, "POST GET PATCH DELETE")
domain.resource("/subscriptions/{id}", Subscription, "POST GET PATCH DELETE")
domain.resource("/invoices/{id}", Invoice, "POST GET PATCH DELETE", role={"DELETE": ACCOUNTANT})
domain.resource("/receipts/{invoice}", Receipt, "GET")
domain.mount("/plan-revenue/{month}", Invoice.revenue.top)

PAID = became(Invoice.status, "paid")
domain.publish(Invoice, when=PAID, name="paid", fields=(Invoice.customer, Invoice.total))


@domain.on(Invoice, PAID, fields=(Invoice.customer, Invoice.paid_on, Invoice.total))
def write_receipt(book: Book, event: Event) -> None:
    """A repeat of the event writes the same receipt."""
    paid = event.new or {}
    book.put(
        Receipt(
            invoice=paid["id"],
            customer=paid["customer"],
            paid_on=paid["paid_on"],
            total=paid["total"],
            booked_by=event.actor,
        )
    )
