"""Entities whose versions are kept, one by copy and one by pointer."""

from __future__ import annotations

from daicho import Aggregate, Count, Domain, Entity, Key, Listing, Search, Versioned, field, uid
from daicho.declare.registry import Daicho
from daicho.plan import Ledger


class Page(Entity):
    id: str = uid()
    title: str = field()

    key = Key(id)
    search = Search(title)
    versions = Versioned("copy")


class Guide(Entity):
    shelf: str = field()
    id: str = uid()
    title: str = field()

    key = Key(shelf, id)
    newest = Listing()
    on_shelf = Listing(shelf)
    shelves = Aggregate(Count(), shelf, ranked=True)
    versions = Versioned("pointer")


LEDGER = Daicho(Domain("test", Page, Guide)).append_generations(Ledger())
