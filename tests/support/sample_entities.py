"""Entities that show every kind of declaration, and Books over them at a time that tests move."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

from daicho import (
    Aggregate,
    Count,
    Domain,
    Edge,
    Entity,
    Expires,
    Key,
    Listing,
    Search,
    Sum,
    copied,
    each,
    field,
    folded,
    month,
    one_of,
    ref,
    refs,
    uid,
)
from daicho.book.book import Book
from daicho.declare.queries import ListQuery
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from tests.support.table_books import TableBooks


class Poll(Entity):
    id: str = uid()
    title: str = ""
    shards: int = field(default=8, frozen=True)
    salt: str = uid(hidden=True)

    key = Key(id)


class Ballot(Entity):
    poll: str = ref(Poll)
    voter: str = field()
    candidate: str = field()
    shards: int = copied(poll, Poll.shards)
    salt: str = copied(poll, Poll.salt)

    key = Key(poll, voter, shards=shards, salt=salt)
    votes = Aggregate(Count(), candidate, within=poll, ranked=True)


class Note(Entity):
    id: str = uid()
    text: str = field(default="")
    tags: set[str] = refs(Poll)
    stage: str | None = field(default=None)
    priority: int = field(default=0)
    colour: str | None = "red"
    origin: str | None = field(default=None, frozen=True)
    poll: str | None = ref(Poll, default=None)
    seen: str = copied(poll, Poll.title)
    extra: dict[str, Any] | None = None

    key = Key(id)
    search = Search(text)
    tagged = Listing(each(tags))
    staged = Listing(stage, order=priority)
    urgent = Listing(origin, where=one_of(stage, "open"))
    texts = Listing(folded(text))


class Remark(Entity):
    note: str = ref(Note, must_exist=True)
    id: str = uid()
    poll: str | None = ref(Poll, default=None, must_exist=True)
    text: str = ""

    key = Key(note, id)


class Link(Entity):
    a: str = ref(Note)
    b: str = ref(Note)
    note: str = ""

    key = Edge(a, b)


class Visit(Entity):
    id: str = uid()
    at: dt.datetime = field()
    kind: str = field(frozen=True)

    key = Key(id, partition=0)
    newest = Listing(kind)
    monthly = Aggregate(Count(), kind, within=month(at), on_expiry="keep", ranked=True)
    expires = Expires(dt.timedelta(hours=1), archive=True)


class Token(Entity):
    id: str = uid()
    owner: str = field(frozen=True)

    key = Key(id)
    of_owner = Listing(owner)
    expires = Expires(dt.timedelta(hours=1))


class Errand(Entity):
    owner: str = field()
    state: Literal["open", "late", "done"] = field(default="open")
    id: str = uid()
    text: str = field(default="")
    weight: int = field(default=1)
    by: str | None = field(default=None, frozen=True)

    key = Key(owner, state, id, moves=state)
    search = Search(text)
    due = Listing(owner, where=one_of(state, "open", "late"))
    weights = Aggregate(Sum(weight), state, within=owner, ranked=True, on_expiry="subtract")
    expires = Expires(dt.timedelta(hours=1), archive=True)


class Copied(Entity):
    id: str = uid()
    group: str = field()
    tags: set[str] = refs(Poll)
    secret: str = field(default="", hidden=True)
    deep: dict[str, Any] | None = None

    key = Key(id)
    of_group = Listing(group, copies=all)
    expires = Expires(dt.timedelta(days=1))


DAICHO = Daicho(Domain("test", Poll, Ballot, Note, Remark, Link, Visit, Token, Errand, Copied))
LEDGER = DAICHO.append_generations(Ledger())


class Shelf(TableBooks):
    """Books over these entities."""

    ledger = LEDGER


def walk(book: Book, *many: ListQuery[Any], limit: int) -> list[Any]:
    found: list[Any] = []
    cursor = None
    while True:
        page = book.page(*many, limit=limit, cursor=cursor)
        assert len(page.items) <= limit
        found += page.items
        cursor = page.cursor
        if cursor is None:
            return found
