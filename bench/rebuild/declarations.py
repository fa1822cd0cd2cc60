"""The entities of the trials, before and after a change of their declarations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daicho import (
    Aggregate,
    Count,
    Domain,
    Edge,
    Entity,
    Key,
    Listing,
    Search,
    Sum,
    field,
    migration,
    one_of,
    uid,
)
from daicho.declare.registry import Daicho

TENANT = "acme"
ENTITIES = ("Event", "Sale", "Person", "Follow")
BIG = 50
"""The amount from which an event is big."""


def declare_before() -> Daicho:
    """The declarations that the stored items were written with."""

    class Event(Entity):
        """Something that happened; it derives nothing."""

        id: str = uid()
        country: str = field()
        amount: int = field()
        note: str = field()
        key = Key(id)

    class Sale(Entity):
        """A sale, listed by status, counted by country."""

        id: str = uid()
        country: str = field()
        status: str = field()
        amount: int = field()
        note: str = field()
        key = Key(id)
        by_status = Listing(status)
        per_country = Aggregate(Count(), country)
        revenue = Aggregate(Sum(amount), country)

    class Person(Entity):
        """Somebody, searched by name."""

        id: str = uid()
        name: str = field()
        email: str = field()
        note: str = field()
        key = Key(id)
        search = Search(name)

    class Follow(Entity):
        """An edge that derives nothing."""

        fan: str = field()
        artist: str = field()
        note: str = field()
        key = Edge(fan, artist)

    return Daicho(Domain("trials", Event, Sale, Person, Follow))


def declare_after() -> Daicho:
    """The changed declarations: one generation more of each entity.

    ``Event`` gets a required field, which a migration fills, and two aggregates; ``Follow`` gets
    one. ``Sale`` counts paid sales only, groups its revenue by status, and loses its listing.
    ``Person`` is searched by a further field.
    """

    @migration("Event", writes=["size"])
    def name_sizes(event: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"size": name_size(event["country"], event["amount"])}

    class Event(Entity):
        """Something that happened, summed by country and counted by size."""

        id: str = uid()
        country: str = field()
        amount: int = field()
        size: str = field()
        note: str = field()
        key = Key(id)
        by_country = Aggregate(Sum(amount), country)
        by_size = Aggregate(Count(), size)

    class Sale(Entity):
        """A sale; paid ones are counted by country."""

        id: str = uid()
        country: str = field()
        status: str = field()
        amount: int = field()
        note: str = field()
        key = Key(id)
        per_country = Aggregate(Count(), country, where=one_of(status, "paid"))
        revenue = Aggregate(Sum(amount), status)

    class Person(Entity):
        """Somebody, searched by name and address."""

        id: str = uid()
        name: str = field()
        email: str = field()
        note: str = field()
        key = Key(id)
        search = Search(name, email)

    class Follow(Entity):
        """An edge, counted by artist."""

        fan: str = field()
        artist: str = field()
        note: str = field()
        key = Edge(fan, artist)
        fans = Aggregate(Count(), artist)

    domain = Domain("trials", Event, Sale, Person, Follow)
    return Daicho(domain, migrations={name_sizes.id: name_sizes})


def name_size(country: str, amount: int) -> str:
    """The size of an event; each country has sizes of its own."""
    return f"{country} {'big' if amount >= BIG else 'small'}"
