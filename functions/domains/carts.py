"""Carts (seed 003): what a user buys now, has saved for later and wishes for, in one collection."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal

from pydantic import BaseModel, Field

from daicho import Book, Domain, Entity, Key, Page, field, now, ref, refuse
from domains.orders import Line, Order, total_of
from domains.users import User

State = Literal["active", "saved", "wish"]
MOST_OF_ONE = 999
MOST_AT_ONCE = 99
"""Things of one checkout: each is a write of its transaction, and the order is another."""

LEFT_OUT: Any = None


class CartItem(Entity):
    """A product in a cart, with its quantity. A product may be in the cart once in each state.

    ``price`` is the unit price at the time when it was added.
    """

    user: str = ref(User)
    state: State = field(default="active")
    sku: str = field(max_length=200)
    quantity: int = field(default=1, ge=1, le=MOST_OF_ONE)
    price: Decimal = field(default=Decimal(0), ge=0, max_digits=12, decimal_places=2)

    key = Key(user, state, sku, moves=state)


class CartItemChange(BaseModel):
    """A new state, quantity or price; omitted fields do not change."""

    state: State = Field(default=LEFT_OUT)
    quantity: int = Field(default=LEFT_OUT, ge=1, le=MOST_OF_ONE)
    price: Decimal = Field(default=LEFT_OUT, ge=0, max_digits=12, decimal_places=2)


domain = Domain("carts", CartItem, examples={
    "customer": "mika", "price": "24.90", "quantity": 2, "sku": "lp-heroes", "total": "41.58",
    "user": "mika",
})  # fmt: skip
domain.resource("/carts/{user}/items/{sku}", CartItem, "PUT GET DELETE")


@domain.route("GET", "/carts/{user}")
def cart(
    book: Book, user: str, limit: int, state: State | None = None, cursor: str | None = None
) -> Page[CartItem]:
    """List a cart, or only its active, saved or wished items."""
    parts = (user,) if state is None else (user, state)
    return book.page(CartItem.key.under(*parts), limit=limit, cursor=cursor)


@domain.route("PATCH", "/carts/{user}/items/{sku}")
def change(
    book: Book,
    user: str,
    sku: str,
    change: CartItemChange,
    state: State = "active",
    if_match: int | None = None,
) -> CartItem:
    """Change an item, or move it to another state, where equal items are added up."""
    changes = change.model_dump(exclude_unset=True)
    source = CartItem.key(user, state, sku)
    target = CartItem.key(user, changes.get("state", state), sku)
    with book.transaction() as t:
        existing = None if target == source else t.find(target)
        if existing is None:
            return t.change(source, changes, if_match=if_match)
        more = changes.get("quantity", t.get(source).quantity)
        t.delete(source, if_match=if_match)
        del changes["state"]
        return t.change(target, changes | {"quantity": existing.quantity + more})


@domain.route("POST", "/carts/{user}/checkout")
def checkout(book: Book, user: str) -> Order:
    """Order the active items and remove them from the cart, in one transaction."""
    page = book.page(CartItem.key.under(user, "active"), limit=MOST_AT_ONCE)
    if page.cursor is not None:
        raise refuse(422, f"at most {MOST_AT_ONCE} things are ordered at once; save some for later")
    keys = [CartItem.key(user, "active", item.sku) for item in page.items]
    with book.transaction() as t:
        items = [item for item in t.find_all(keys) if item is not None]
        if not items:
            raise refuse(409, "nothing is active in this cart")
        lines = [Line(sku=i.sku, quantity=i.quantity, price=i.price) for i in items]
        for item in items:
            t.delete(CartItem.key(user, "active", item.sku))
        order = Order(date=now().date(), customer=user, lines=lines, total=total_of(lines))
        return t.create(order)
