"""Entities whose requests the Book answers in several writes: versions, moves and sections."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal, get_args

from pydantic import JsonValue

from daicho import (
    Aggregate,
    Book,
    Count,
    Domain,
    Entity,
    Key,
    Listing,
    Search,
    Split,
    Versioned,
    field,
    uid,
)
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.testing.simulated_entities import simulate_ledger

State = Literal["active", "saved", "wish"]
STATES: tuple[State, ...] = get_args(State)


class Article(Entity):
    """Every version is kept, and the current item is a copy of the newest."""

    id: str = uid()
    title: str = field()
    text: str
    author: str | None = field(default=None)

    key = Key(id)
    search = Search(title)
    of_author = Listing(author)
    count = Aggregate(Count())
    versions = Versioned("copy")


class Manual(Entity):
    """Every version is kept, and the current item only points at the newest."""

    id: str = uid()
    title: str
    text: str

    key = Key(id)
    newest = Listing()
    versions = Versioned("pointer")


class CartItem(Entity):
    """An item whose key has a state: a change of the state moves it."""

    user: str = field()
    state: State = field(default="active")
    sku: str = field()
    quantity: int = field(default=1)
    price: Decimal = field(default=Decimal(0), max_digits=12, decimal_places=2)

    key = Key(user, state, sku, moves=state)


class Document(Entity):
    """A document whose sections are items of their own."""

    id: str = uid()
    title: str = field(default="")
    sections: dict[str, JsonValue] = field()

    key = Key(id)
    titled = Search(title)
    split = Split(sections)


NAMES = ("Article", "CartItem", "Document", "Manual")
LEDGER = Daicho(Domain("samples", Article, CartItem, Document, Manual)).append_generations(Ledger())
ENTITIES = simulate_ledger(LEDGER)


def move_and_merge(book: Book, user: str, sku: str, source: State, target: State) -> CartItem:
    """Move an item to another state; if one is there already, their quantities are added."""
    source_key, target_key = CartItem.key(user, source, sku), CartItem.key(user, target, sku)
    changes: Mapping[str, Any] = {"state": target}
    with book.transaction() as transaction:
        existing = None if target == source else transaction.find(target_key)
        if existing is None:
            return transaction.change(source_key, changes)
        quantity = transaction.get(source_key).quantity
        transaction.delete(source_key)
        return transaction.change(target_key, {"quantity": existing.quantity + quantity})
