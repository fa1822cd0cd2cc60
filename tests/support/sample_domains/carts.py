"""A key that moves, changed by transactions, and a key of several fields in one partition."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from daicho import Book, Domain, Entity, Key, Page, field, now, refuse
from tests.support.sample_domains.orders import Line, Order

State = Literal["active", "saved"]
LEFT_OUT: Any = None


class CartItem(Entity):
    """A product may be in the cart once in each state."""

    user: str = field()
    state: State = field(default="active")
    sku: str = field(max_length=200)
    quantity: int = field(default=1, ge=1, le=999)

    key = Key(user, state, sku, moves=state)


class Place(Entity):
    """A city in its country and region."""

    country: str = field(max_length=200)
    region: str = field(max_length=200)
    city: str = field(max_length=200)
    note: str = field(default="", max_length=2_000)

    key = Key(country, region, city, partition=0)


class CartItemChange(BaseModel):
    """A new state or quantity; omitted fields do not change."""

    state: State = Field(default=LEFT_OUT)
    quantity: int = Field(default=LEFT_OUT, ge=1, le=999)


domain = Domain("carts", CartItem, Place, examples={
    "city": "yokohama", "country": "japan", "region": "kanto", "sku": "lp-heroes",
    "under": "japan", "user": "mika",
})  # fmt: skip
domain.resource("/carts/{user}/items/{sku}", CartItem, "PUT GET DELETE")
domain.resource("/places/{country}/{region}/{city}", Place, "PUT GET PATCH DELETE")
domain.mount("/places", Place.key.all)
domain.mount("/places?under=", Place.key.under)


@domain.route("GET", "/carts/{user}")
def cart(book: Book, user: str, limit: int, cursor: str | None = None) -> Page[CartItem]:
    """List a cart."""
    return book.page(CartItem.key.under(user), limit=limit, cursor=cursor)


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
        return t.change(target, {"quantity": existing.quantity + more})


@domain.route("POST", "/carts/{user}/checkout")
def checkout(book: Book, user: str) -> Order:
    """Order the active items and remove them from the cart, in one transaction."""
    page = book.page(CartItem.key.under(user, "active"), limit=50)
    keys = [CartItem.key(user, "active", item.sku) for item in page.items]
    with book.transaction() as t:
        items = [item for item in t.find_all(keys) if item is not None]
        if not items:
            raise refuse(409, "nothing is active in this cart")
        for item in items:
            t.delete(CartItem.key(user, "active", item.sku))
        lines = [Line(sku=item.sku, quantity=item.quantity) for item in items]
        return t.create(Order(date=now().date(), customer=user, lines=lines))
