"""Entities with unique values, which expire, move, and keep versions."""

from __future__ import annotations

import datetime as dt
from typing import Literal

from daicho import (
    Aggregate,
    Count,
    Domain,
    Entity,
    Expires,
    Key,
    Listing,
    Unique,
    Versioned,
    field,
    uid,
)
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.testing.schedules.base_item_writer import LIFETIME_S
from daicho.testing.simulated_entities import simulate_ledger


class Badge(Entity):
    """It expires, and is archived."""

    id: str = uid()
    name: str | None = field(default=None)
    note: str = ""

    key = Key(id)
    named = Listing(name)
    count = Aggregate(Count(), on_expiry="keep")
    one_name = Unique(name, fold=True)
    expires = Expires(dt.timedelta(seconds=LIFETIME_S), archive=True)


class Member(Entity):
    """Its versions are kept, and its name is unique in an organisation."""

    id: str = uid()
    org: str = field()
    name: str | None = field(default=None)
    note: str = ""

    key = Key(id)
    versions = Versioned("copy")
    one_name = Unique(name, within=(org,))


class Desk(Entity):
    """Its key moves, it expires, and it has two unique values."""

    room: Literal["a", "b"] = field()
    id: str = field()
    name: str | None = field(default=None)
    number: int = field(default=0)

    key = Key(room, id, moves=room)
    one_name = Unique(name, fold="case")
    one_number = Unique(number, name)
    expires = Expires(dt.timedelta(seconds=LIFETIME_S))


NAMES = ("Badge", "Desk", "Member")
LEDGER = Daicho(Domain("uniques", Badge, Desk, Member)).append_generations(Ledger())
ENTITIES = simulate_ledger(LEDGER)
