"""Accounts, passes, seats and articles: every kind of entity that may have a unique value."""

from __future__ import annotations

import datetime as dt

from daicho import Domain, Entity, Expires, Key, Listing, Unique, Versioned, field, uid


class Account(Entity):
    """Its e-mail address is unique in the tenant, its handle in an organisation."""

    id: str = uid()
    org: str = field(default="acme")
    email: str | None = field(default=None)
    handle: str | None = field(default=None)
    note: str = ""

    key = Key(id)
    email_is_unique = Unique(email, fold=True)
    handle_is_unique = Unique(handle, within=(org,))
    of_org = Listing(org)


class Pass(Entity):
    """It expires, and its number and colour are unique together."""

    id: str = uid()
    number: int = field()
    colour: str = field(default="red")

    key = Key(id)
    numbered = Unique(number, colour)
    expires = Expires(dt.timedelta(days=7), archive=True)


class Seat(Entity):
    """Its key moves."""

    room: str = field()
    place: str = field()
    holder: str | None = field(default=None)

    key = Key(room, place, moves=place)
    one_seat = Unique(holder, fold="case")


class Article(Entity):
    """Its versions are kept."""

    id: str = uid()
    slug: str = field()

    key = Key(id)
    versions = Versioned("copy")
    slug_is_unique = Unique(slug)


ENTITIES = (Account, Pass, Seat, Article)
domain = Domain("accounts", *ENTITIES)
domain.resource("/accounts/{id}", Account, "POST PUT GET PATCH DELETE")
domain.resource("/passes/{id}", Pass, "POST GET")
domain.resource("/articles/{id}", Article, "POST GET")
domain.mount("/articles/by-slug/{slug}", Article.slug_is_unique)
