"""Entities that show declarations of most kinds, and the check that a wrong one is refused."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

import pytest

from daicho import (
    Aggregate,
    Edge,
    Entity,
    Expires,
    Key,
    Listing,
    Search,
    Sum,
    copied,
    created_at,
    field,
    month,
    one_of,
    ref,
    refs,
    uid,
)
from daicho.errors import DeclarationError

DAY = dt.timedelta(days=1)


class Artist(Entity):
    id: str = uid()
    name: str = field()

    key = Key(id)
    search = Search(name)


class Sale(Entity):
    artist: str = ref(Artist)
    id: str = uid()
    at: dt.datetime = field()
    price: int = field(default=1, ge=0)
    state: Literal["open", "paid"] = field(default="open")
    artist_name: str = copied(artist, Artist.name)
    tags: set[str] = refs(Artist)
    note: str = ""

    key = Key(artist, id)
    open = Listing(artist, where=one_of(state, "open"))
    newest = Listing(order=created_at)
    revenue = Aggregate(Sum(price), artist, within=month(at), ranked=True, on_expiry="keep")
    expires = Expires(DAY, archive=True)


class Likes(Entity):
    artist: str = ref(Artist)
    fan: str = field()

    key = Edge(artist, fan)


class Team(Entity):
    id: str = uid()

    key = Key(id)


class Task(Entity):
    """Its listings copy nothing, some fields, or all of them."""

    id: str = uid()
    team: str = ref(Team)
    title: str = field()
    helpers: set[str] = refs(Team)
    note: str = ""

    key = Key(id)
    none = Listing(team)
    some = Listing(team, copies=(title, created_at))
    one = Listing(team, copies=helpers)
    every = Listing(team, copies=all)


def refused(match: str) -> Any:
    """The context in which a declaration is refused, with this in the message."""
    return pytest.raises(DeclarationError, match=match)
