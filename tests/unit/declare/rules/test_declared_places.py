"""The places that types declare, and which fields may have decimals without them."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, Field, JsonValue
from typing_extensions import TypedDict

from daicho import Entity, Key, copied, field, ref, uid
from daicho.declare.rules.declared_places import (
    list_decimal_fields,
    list_declared_places,
    list_scale_attributes,
    list_unscaled_fields,
)
from daicho.storage.scales import SCALES, DeclaredPlaces

TWO = DeclaredPlaces(2)
Money = Annotated[Decimal, Field(decimal_places=2, max_digits=12)]


class Line(BaseModel):
    price: Money
    tax: Decimal = Field(default=Decimal(0), decimal_places=3)
    weight: Decimal | None = None
    parts: list[Line] = []


class Priced(BaseModel):
    price: Money | None = None
    name: Annotated[str, Field(json_schema_extra={"a": 1})] = ""


@dataclasses.dataclass
class Size:
    width: Decimal


class Named(TypedDict):
    size: Size


class Product(Entity):
    id: str = uid()
    price: Decimal = field(decimal_places=2)
    key = Key(id)


class Sale(Entity):
    id: str = uid()
    product: str = ref(Product)
    plain: str = field()
    free: Decimal = field()
    money: Money = field()
    maybe: Decimal | None = field(default=None, decimal_places=2)
    price: Decimal = copied(product, Product.price)
    lines: list[Line] = field(factory=list)
    priced: dict[str, Priced] = field(factory=dict)
    several: tuple[Money, ...] = field(default=())
    mixed: Line | Priced | None = None
    size: Size | None = None
    named: Named | None = None
    json_value: JsonValue = None
    numbers: list[int] = field(factory=list)
    anything: Any = None
    key = Key(id)


def test_declared_places() -> None:
    line = DeclaredPlaces(members={"price": TWO, "tax": DeclaredPlaces(3)})
    assert list_declared_places(Sale) == {
        "money": TWO,
        "maybe": TWO,
        "price": TWO,
        "lines": DeclaredPlaces(each=line),
        "priced": DeclaredPlaces(each=DeclaredPlaces(members={"price": TWO})),
        "several": DeclaredPlaces(each=TWO),
    }


def test_fields_with_decimals() -> None:
    unscaled = {"free", "lines", "mixed", "size", "named"}
    assert list_unscaled_fields(Sale) == unscaled
    scaled = {"money", "maybe", "price", "priced", "several"}
    assert list_decimal_fields(Sale) == unscaled | scaled
    assert list_scale_attributes(Sale, ["plain", "free"]) == (SCALES,)
    assert list_scale_attributes(Sale, ["plain", "money", "priced"]) == ()
