"""Accounts that are not deleted while something refers to them."""

from __future__ import annotations

import datetime as dt

from daicho import Domain, Entity, Expires, Key, Versioned, field, now, owned_by_caller, ref, uid


class Account(Entity):
    """Something to refer to."""

    id: str = uid()
    name: str = field(default="")

    key = Key(id)


class Ledger(Entity):
    """The same, whose versions are kept."""

    id: str = uid()
    name: str = field(default="")

    key = Key(id)
    versions = Versioned("copy")


class Booking(Entity):
    """It refers to an account, and may refer to a ledger."""

    id: str = uid()
    account: str = ref(Account, must_exist=True, on_delete="refuse")
    ledger: str | None = ref(Ledger, default=None, must_exist=True, on_delete="refuse")
    note: str = field(default="")
    at: dt.datetime = field(factory=now)

    key = Key(id)
    expires = Expires(dt.timedelta(days=1), of=at)


class Secret(Entity):
    """Only its owner reads it."""

    id: str = uid()
    owner: str = owned_by_caller()
    account: str = ref(Account, must_exist=True, on_delete="refuse")

    key = Key(id)


domain = Domain("accounts", Account, Ledger, Booking, Secret)
domain.access(Secret, read="owner", write="owner")
for each, path in (
    (Account, "/accounts/{id}"),
    (Ledger, "/ledgers/{id}"),
    (Booking, "/bookings/{id}"),
    (Secret, "/secrets/{id}"),
):
    domain.resource(
        path, each, "POST GET PATCH DELETE" if each is Secret else "POST PUT GET PATCH DELETE"
    )
