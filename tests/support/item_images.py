"""Entities with fields of every kind and at their limits, and their items as they are stored."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

from pydantic import BaseModel

from daicho import (
    Aggregate,
    Count,
    Domain,
    Edge,
    Entity,
    Expires,
    Key,
    Listing,
    Sum,
    copied,
    each,
    field,
    ref,
    refs,
    uid,
)
from daicho.declare.entity import get_values
from daicho.declare.registry import Daicho
from daicho.items.mapper import to_field_image
from daicho.layout.base_item import build_base_item
from daicho.plan import Ledger

NOON = dt.datetime(2026, 11, 21, 12, 0, 0, 123456, tzinfo=dt.UTC)
HIGHEST = 10**19 - 1
"""The largest whole number that a key holds and a sum takes."""


class Part(BaseModel):
    name: str
    weight: Decimal = Decimal(1)


class Owner(Entity):
    id: str = uid()
    name: str | None = None

    key = Key(id)


class Thing(Entity):
    id: str = uid()
    owner: str = ref(Owner)
    name: str | None = copied(owner, Owner.name)
    origin: str | None = field(default=None, frozen=True)
    colour: str | None = "red"
    labels: set[str] = refs(Owner)
    others: set[str] = field(default={"x"})
    size: int = field(default=0)
    weight: Decimal = field(default=Decimal(0))
    ratio: float = 0.5
    due: dt.date | None = None
    at: dt.datetime | None = None
    parts: list[Part] = field(default=[])
    extra: dict[str, Any] = field(default={})

    key = Key(owner, id)
    of_size = Listing(size)
    mass = Aggregate(Sum(weight), owner)
    due_weight = Aggregate(Sum(size), on_expiry="subtract")


class Short(Entity):
    a: str = field()
    b: str = field()

    key = Edge(a, b)
    expires = Expires(dt.timedelta(seconds=90))


class Payment(Entity):
    id: str = field()
    payer: str = field()
    amount: int = field()

    key = Key(id)
    payers = Aggregate(Sum(amount), payer, ranked=True)


class Bag(Entity):
    id: str = field()
    labels: set[str] = field(factory=set)
    marks: set[str] = field(factory=set)
    extra: dict[str, Any] = field(factory=dict)
    prices: dict[str, Any] = field(factory=dict)

    key = Key(id)
    labelled = Aggregate(Count(), each(labels))
    crossed = Listing(each(labels), each(marks))


LEDGER = Daicho(Domain("test", Owner, Thing, Short, Payment, Bag)).append_generations(Ledger())
THING = LEDGER.current_generation("Thing")
PAYMENT, BAG = LEDGER.current_generation("Payment"), LEDGER.current_generation("Bag")


def image_of(item: Entity, tenant: str = "acme") -> dict[str, Any]:
    """The whole image of an item that was created at noon."""
    entity = type(item)
    fields = to_field_image(entity, get_values(item))
    return build_base_item(tenant, LEDGER.current_generation(entity.__name__), fields, NOON)
