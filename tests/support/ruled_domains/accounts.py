"""Accounts that are not deleted while something refers to them."""

from __future__ import annotations

import datetime as dt

from daicho import (
    Domain,
    Entity,
    Expires,
    Frozen,
    Key,
    Versioned,
    field,
    now,
    one_of,
    owned_by_caller,
    ref,
    uid,
)


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


class Group(Entity):
    """It is deleted with its members."""

    id: str = uid()
    name: str = field(default="")

    key = Key(id)


class Member(Entity):
    """It is deleted with its group, and its own notes are deleted with it."""

    id: str = uid()
    group: str = ref(Group, must_exist=True, on_delete="cascade")

    key = Key(id)


class MemberNote(Entity):
    """A note of a member."""

    id: str = uid()
    member: str = ref(Member, must_exist=True, on_delete="cascade")
    kept: bool = field(default=False)

    key = Key(id)
    stays = Frozen(when=one_of(kept, True), deletable=False)


domain = Domain("accounts", Account, Ledger, Booking, Secret, Group, Member, MemberNote)
domain.access(Secret, read="owner", write="owner")
for each, path in (
    (Account, "/accounts/{id}"),
    (Ledger, "/ledgers/{id}"),
    (Booking, "/bookings/{id}"),
    (Secret, "/secrets/{id}"),
    (Group, "/groups/{id}"),
    (Member, "/members/{id}"),
    (MemberNote, "/member-notes/{id}"),
):
    domain.resource(
        path, each, "POST GET PATCH DELETE" if each is Secret else "POST PUT GET PATCH DELETE"
    )
