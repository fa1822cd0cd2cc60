"""Bills with rules over the stored item and the new one, with and without versions."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal

from daicho import (
    ChangeCheck,
    Domain,
    Entity,
    Frozen,
    Key,
    Versioned,
    field,
    one_of,
    owned_by_caller,
    transition,
    uid,
)

State = Literal["draft", "open", "paid", "void"]
STATES: dict[str | None, Any] = {
    None: ("draft", "open"),
    "draft": ("open",),
    "open": (transition("paid", role="accountant", once=True), transition("void", role="owner")),
}


def check_discount(old: Any, new: Any) -> str | None:
    """A discount is not lowered, and an item with one is not deleted."""
    if new is None:
        return "it has a discount" if old.discount else None
    return "the discount is not lowered" if new.discount < old.discount else None


class Bill(Entity):
    """A bill of the caller."""

    id: str = uid()
    owner: str = owned_by_caller()
    state: State = field(default="draft", transitions=STATES)
    amount: Decimal = field(default=Decimal(0), decimal_places=2)
    note: str = field(default="")
    discount: int = field(default=0)
    rate: int | None = field(default=None, write="accountant")

    key = Key(id)
    grows = ChangeCheck(check_discount, discount, deletion=True)
    settled = Frozen(amount, when=one_of(state, "paid", "void"), deletable=False)


class Statement(Entity):
    """The same, whose versions are kept."""

    id: str = uid()
    owner: str = owned_by_caller()
    state: State = field(default="draft", transitions=STATES)
    amount: Decimal = field(default=Decimal(0), decimal_places=2)
    note: str = field(default="")
    discount: int = field(default=0)
    rate: int | None = field(default=None, write="accountant")

    key = Key(id)
    versions = Versioned("copy")
    grows = ChangeCheck(check_discount, discount, deletion=True)
    settled = Frozen(amount, when=one_of(state, "paid", "void"), deletable=False)


domain = Domain("bills", Bill, Statement)
for each, path in ((Bill, "/bills/{id}"), (Statement, "/statements/{id}")):
    domain.access(each, read="tenant", write="tenant")
    domain.resource(path, each, "POST PUT GET PATCH DELETE")
