"""A project's declarations, for the tests of `daicho cost`."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from daicho import (
    Aggregate,
    Count,
    Counter,
    Domain,
    Edge,
    Entity,
    Expires,
    Key,
    Listing,
    Search,
    Split,
    Sum,
    copied,
    field,
    month,
    now,
    ref,
    uid,
)
from daicho.declare.registry import Daicho
from daicho.plan import Ledger


class Product(Entity):
    """A thing for sale."""

    id: str = uid()
    title: str = field()
    price: Decimal = field(ge=0)
    shelf: str | None = field(default=None, frozen=True)

    key = Key(id)
    search = Search(title)
    on_shelf = Listing(shelf)


class Sale(Entity):
    """One sale."""

    product: str = ref(Product, must_exist=True)
    id: str = uid()
    at: dt.datetime = field(factory=now)
    price: Decimal = copied(product, Product.price)
    shelf: str = copied(product, Product.shelf)

    key = Key(product, id, shards=4)
    revenue = Aggregate(Sum(price), product, within=month(at), ranked=True, on_expiry="keep")
    count = Aggregate(Count(), on_expiry="subtract")
    expires = Expires(dt.timedelta(days=7), archive=True)


class Like(Entity):
    """A like of a product."""

    product: str = ref(Product)
    voter: str = field()

    key = Edge(product, voter)
    likes = Counter(voter, within=product, slots=8)


class Page(Entity):
    """A text in sections."""

    id: str = uid()
    sections: dict[str, str] = field()

    key = Key(id)
    split = Split(sections)


EXAMPLES = {"title": "Red chair", "price": "24.90", "product": "chair", "shelf": "A1"}
SHOP = Daicho(Domain("shop", Product, Sale, Like, Page, examples=EXAMPLES))
LEDGER = SHOP.append_generations(Ledger())
