"""Entities that expire by each rule: by a field, their creation and their last change."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Literal

from daicho import (
    Aggregate,
    Count,
    Domain,
    Entity,
    Expires,
    Key,
    Listing,
    changed_at,
    field,
    one_of,
)
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.storage.attributes import Image
from daicho.testing.oracle.expiry_rules import CHANGED_AT, read_epoch
from daicho.testing.simulated_entities import simulate_ledger

Status = Literal["open", "void"]


class Bill(Entity):
    """A void one expires some time after its due day."""

    id: str = field()
    status: Status = field(default="open")
    due: dt.date | None = field(default=None)
    at: dt.datetime | None = field(default=None)
    text: str = ""

    key = Key(id)
    of_status = Listing(status, copies=all)
    count = Aggregate(Count(), status, on_expiry="subtract")
    expires = Expires(dt.timedelta(minutes=10), of=due, where=one_of(status, "void"))


class Booking(Entity):
    """It expires shortly after its time, and is archived."""

    id: str = field()
    status: Status = field(default="open")
    due: dt.date | None = field(default=None)
    at: dt.datetime | None = field(default=None)
    text: str = ""

    key = Key(id)
    count = Aggregate(Count(), status, on_expiry="keep")
    expires = Expires(dt.timedelta(seconds=60), of=at, archive=True)


class Offer(Entity):
    """It expires shortly before its time."""

    id: str = field()
    status: Status = field(default="open")
    due: dt.date | None = field(default=None)
    at: dt.datetime | None = field(default=None)
    text: str = ""

    key = Key(id)
    expires = Expires(dt.timedelta(seconds=-20), of=at)


class Draft(Entity):
    """An open one expires some time after its creation, and is archived."""

    id: str = field()
    status: Status = field(default="open")
    due: dt.date | None = field(default=None)
    at: dt.datetime | None = field(default=None)
    text: str = ""

    key = Key(id)
    count = Aggregate(Count(), status, on_expiry="keep")
    expires = Expires(dt.timedelta(minutes=3), archive=True, where=one_of(status, "open"))


class Visit(Entity):
    """A void one expires some time after its last change."""

    id: str = field()
    status: Status = field(default="open")
    due: dt.date | None = field(default=None)
    at: dt.datetime | None = field(default=None)
    text: str = ""

    key = Key(id)
    of_status = Listing(status)
    count = Aggregate(Count(), status, on_expiry="subtract")
    expires = Expires(dt.timedelta(minutes=2), of=changed_at, where=one_of(status, "void"))


class Ticket(Entity):
    """Each expires some time after its last change, and is archived."""

    id: str = field()
    status: Status = field(default="open")
    due: dt.date | None = field(default=None)
    at: dt.datetime | None = field(default=None)
    text: str = ""

    key = Key(id)
    count = Aggregate(Count(), status, on_expiry="keep")
    expires = Expires(dt.timedelta(minutes=2), archive=True, of=changed_at)


def _read(image: Image, name: str, seconds: int) -> int | None:
    """So many seconds after an attribute, or after the restore of the item if that was later."""
    text = image.get(name, {}).get("S")
    if text is None:
        return None
    mark = image.get("_restored", {}).get("M")
    restored = read_epoch(mark["at"]["S"]) if mark else read_epoch(text)
    return max(read_epoch(text), restored) + seconds


def _is(image: Image, status: Status) -> bool:
    return bool(image["status"]["S"] == status)


RIGHT_TTLS: Mapping[str, Callable[[Image], int | None]] = {
    "Bill": lambda image: _read(image, "due", 600) if _is(image, "void") else None,
    "Booking": lambda image: _read(image, "at", 60),
    "Offer": lambda image: _read(image, "at", -20),
    "Draft": lambda image: _read(image, "created_at", 180) if _is(image, "open") else None,
    "Visit": lambda image: _read(image, CHANGED_AT, 120) if _is(image, "void") else None,
    "Ticket": lambda image: _read(image, CHANGED_AT, 120),
}
"""The ``ttl`` of an item of each entity, as its declaration reads."""
STAMPED = ("Visit", "Ticket")
"""The entities whose items keep the time of their last change."""
ARCHIVED = ("Booking", "Draft", "Ticket")
ENTITY_TYPES: Mapping[str, type[Bill | Booking | Offer | Draft | Visit | Ticket]] = {
    "Bill": Bill,
    "Booking": Booking,
    "Offer": Offer,
    "Draft": Draft,
    "Visit": Visit,
    "Ticket": Ticket,
}
NAMES = tuple(ENTITY_TYPES)
LEDGER = Daicho(Domain("expiring", *ENTITY_TYPES.values())).append_generations(Ledger())
ENTITIES = simulate_ledger(LEDGER)
