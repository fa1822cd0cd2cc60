"""Entities with fields of every type: what the browser tests of values declare."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any, Literal

from daicho import Domain, Entity, Key, field, uid


class Specimen(Entity):
    """Values that are changed field by field."""

    id: str = uid()
    title: str = field()
    note: str | None = None
    whole: int = 0
    size: int | None = None
    ratio: float | None = None
    price: Decimal | None = field(default=None, decimal_places=2)
    shipped: dt.date | None = None
    seen: dt.datetime | None = None
    state: Literal["open", "done"] | None = None
    ready: bool = False
    checked: bool | None = None
    tags: list[str] = field(factory=list)
    aliases: list[str] | None = None
    counts: list[int] = field(factory=list)
    extra: dict[str, Any] = field(factory=dict)

    key = Key(id)


class Shelf(Entity):
    """Values that are replaced as a whole, under a number."""

    number: int = field()
    title: str = field()
    size: int | None = None
    tags: list[str] = field(factory=list)

    key = Key(number)


domain = Domain("specimens", Specimen, Shelf)
domain.resource("/specimens/{id}", Specimen, "POST GET PATCH")
domain.resource("/shelves/{number}", Shelf, "PUT GET")
