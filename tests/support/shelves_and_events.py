"""Entities with keys and listings of several fields, and the queries that a path makes of them."""

from __future__ import annotations

import datetime as dt
from typing import Any

from daicho import Domain, Entity, Key, Listing, created_at, field, uid
from daicho.declare.registry import Daicho
from daicho.web.routes.builder import build_operations


class Shelf(Entity):
    hall: str = field()
    row: int = field()
    place: str = field()
    note: str = ""

    key = Key(hall, row, place)


class Event(Entity):
    source: str = field()
    at: dt.datetime = field()
    day: dt.date = field()
    id: str = uid()

    key = Key(source, at, id)
    latest = Listing(source)
    made = Listing(source, day, order=(created_at, at))
    by_day = Listing(source, order=day)


def served(path: str, declaration: Any, **options: Any) -> list[str]:
    """The queries of the path that a declaration is mounted on."""
    domain = Domain("toys", Shelf, Event)
    domain.mount(path, declaration, **options)
    (operation,) = build_operations(Daicho(domain))
    return [f"{operation.path}{choice}" for choice in operation.variants]
