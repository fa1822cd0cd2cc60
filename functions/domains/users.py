"""Users (seed 000): found by the beginning of a name. Each may change its own item only."""

from __future__ import annotations

from daicho import Domain, Entity, Key, Search, field, owned_by_caller

STAFF = "staff"
"""The role of those who may write for others."""


class User(Entity):
    """A person who places orders. The id is the subject of the person's token."""

    id: str = owned_by_caller()
    name: str = field()
    age: int | None = field(default=None, ge=0, le=200)
    email: str | None = field(default=None, max_length=254)
    address: str | None = field(default=None, max_length=500)
    country: str | None = field(default=None, max_length=100)

    key = Key(id)
    search = Search(name)


domain = Domain("users", User, examples={
    "address": "1-2-3 Ginza, Tokyo", "age": 34, "country": "Japan", "fields": "name,email",
    "id": "mika", "name": "Mika Yamada",
})  # fmt: skip
domain.access(User, write=("owner", STAFF))
domain.resource("/users/{id}", User, "POST PUT GET PATCH DELETE")
