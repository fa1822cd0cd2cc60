"""The entities of the trials, before and after a change of their declarations."""

from __future__ import annotations

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
    one_of,
    uid,
)
from daicho.declare.registry import Daicho

TENANT = "acme"
ENTITIES = ("Event", "Sale", "Person", "Follow")


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

    ``Event`` and ``Follow`` get an aggregate. ``Sale`` counts paid sales only, groups its revenue
    by status, and loses its listing. ``Person`` is searched by a further field.
    """

    class Event(Entity):
        """Something that happened, summed by country."""

        id: str = uid()
        country: str = field()
        amount: int = field()
        note: str = field()
        key = Key(id)
        by_country = Aggregate(Sum(amount), country)

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

    return Daicho(Domain("trials", Event, Sale, Person, Follow))


def find_entity(daicho: Daicho, name: str) -> Any:
    """A declared entity, by name."""
    return daicho.get_entity(name)
