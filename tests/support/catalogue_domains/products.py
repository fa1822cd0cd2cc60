"""Entities with values of every kind at every depth, and what they are served by."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, JsonValue

from daicho import (
    Aggregate,
    Book,
    Count,
    Domain,
    Edge,
    Entity,
    Key,
    Listing,
    Split,
    Sum,
    copied,
    field,
    ref,
    uid,
)


class Line(BaseModel):
    """A line, with types that the library does not replace."""

    price: Decimal
    weights: list[Decimal] = []
    share: float | None = None
    more: dict[str, Decimal] = {}


class Product(Entity):
    id: str = field()
    name: str = field(default="")
    price: Decimal | None = field(default=None)
    cost: Decimal | None = field(default=None, decimal_places=2)
    prices: dict[str, Decimal] = field(factory=dict)
    lines: list[Line] = field(factory=list)
    note: JsonValue = field(default=None)
    ratio: float | None = field(default=None)
    pieces: int | None = field(default=None)
    tags: set[str] = field(factory=set)
    kind: Literal["a", "b"] = field(default="a")
    at: dt.datetime | None = field(default=None)

    key = Key(id)
    of_name = Listing(name)
    total = Aggregate(Sum(price), kind)
    count = Aggregate(Count(), kind)


class Copy(Entity):
    id: str = uid()
    product: str = ref(Product)
    price: Decimal | None = copied(product, Product.price)

    key = Key(id)


class Sheet(Entity):
    id: str = field()
    sections: dict[str, JsonValue] = field()

    key = Key(id)
    split = Split(sections)


class Folder(Entity):
    id: str = field()
    lines: dict[str, Line] = field()

    key = Key(id)
    split = Split(lines)


class Link(Entity):
    near: str = field(min_length=1)
    far: str = field(min_length=1)

    key = Edge(near, far)


class Offer(BaseModel):
    """The body of an own function."""

    price: Annotated[Decimal, Field(ge=0)]
    lines: list[Line] = []
    choices: set[Decimal] = set()


domain = Domain("products", Product, Copy, Sheet, Folder, Link)
domain.resource("/products/{id}", Product, "POST PUT GET PATCH DELETE")
domain.resource("/copies/{id}", Copy, "POST GET")
domain.resource("/sheets/{id}", Sheet, "PUT GET PATCH DELETE")
domain.resource("/folders/{id}", Folder, "PUT GET PATCH DELETE")
domain.resource("/links/{near}/{far}", Link, "PUT GET DELETE")
domain.mount("/totals/{kind}", Product.total)


@domain.route("POST", "/offers")
def offer(book: Book, offer: Offer) -> Offer:
    """Answer with the same offer, and keep it as a product in a transaction."""
    values: dict[str, Any] = {"price": offer.price, "lines": offer.lines}
    with book.transaction() as t:
        t.put(Product(id="offer", **values))
    return offer
