"""A domain whose items belong to their creators, with every kind of declaration and of route."""

from __future__ import annotations

import datetime as dt
from typing import Literal

from pydantic import JsonValue

from daicho import (
    Aggregate,
    Book,
    Caller,
    Count,
    Counter,
    Domain,
    Edge,
    Entity,
    Key,
    Listing,
    Page,
    Search,
    Split,
    StoredObject,
    Sum,
    Versioned,
    field,
    month,
    owned_by_caller,
    ref,
    refs,
    stored_object,
    uid,
)
from daicho.declare.registry import Daicho

READERS = ("owner", "auditor", "staff")


class Label(Entity):
    """A label that everybody reads, and only the staff writes."""

    id: str = uid()
    name: str = field()

    key = Key(id)


class Bill(Entity):
    """A bill of its creator."""

    id: str = uid()
    owner: str = owned_by_caller()
    customer: str = field()
    status: Literal["open", "paid"] = field(default="open")
    at: dt.date = field()
    total: int = field(default=1)
    labels: set[str] = refs(Label)

    key = Key(id)
    search = Search(customer)
    mine = Listing(owner)
    mine_by_status = Listing(owner, status, copies=(total,))
    of_status = Listing(status)
    count = Aggregate(Count())
    by_owner = Aggregate(Sum(total), owner, within=month(at), ranked=True)
    of_owner = Aggregate(Count(), status, within=owner, ranked=True)


class Draft(Entity):
    """A document of its creator, whose key begins with the owner."""

    owner: str = owned_by_caller()
    id: str = field(max_length=100)
    text: str = field(default="")

    key = Key(owner, id)
    versions = Versioned("copy")


class Folder(Entity):
    """A split item of its creator."""

    owner: str = owned_by_caller()
    id: str = field(max_length=100)
    parts: dict[str, JsonValue] = field()

    key = Key(owner, id)
    split = Split(parts)


class Scan(Entity):
    """An object of its creator, which everybody reads."""

    id: str = uid()
    owner: str = owned_by_caller()
    image: StoredObject = stored_object(max_bytes=1_000, types=("image/png",))

    key = Key(id)


class Share(Entity):
    """An edge between two bills, of its creator."""

    source: str = ref(Bill)
    target: str = ref(Bill)
    owner: str = owned_by_caller()
    note: str = ""

    key = Edge(source, target)


class Remark(Entity):
    """A remark on a bill that must exist, whoever owns the bill."""

    id: str = uid()
    bill: str = ref(Bill, must_exist=True)
    owner: str = owned_by_caller()

    key = Key(id)
    likes = Counter(owner)


domain = Domain("owned", Label, Bill, Draft, Folder, Scan, Share, Remark)
domain.access(Label, write="staff")
for entity in (Bill, Draft, Folder, Share, Remark):
    domain.access(entity, read=READERS, write=("owner", "staff"))
domain.access(Scan, write=("owner", "staff"))
domain.resource("/labels/{id}", Label, "POST GET PATCH DELETE")
domain.resource("/bills/{id}", Bill, "POST GET PATCH DELETE", role={"DELETE": ("cashier", "staff")})
domain.resource("/drafts/{id}", Draft, "PUT GET PATCH DELETE LIST")
domain.resource("/folders/{id}", Folder, "PUT GET PATCH DELETE LIST")
domain.resource("/scans/{id}", Scan, "POST GET DELETE")
domain.resource("/shares/{source}/{target}", Share, "GET DELETE LIST")
domain.resource("/remarks/{id}", Remark, "POST GET DELETE")
domain.mount("/audits", Bill.of_status)
domain.mount("/totals/{month}", Bill.by_owner.top, role="auditor")
domain.mount("/totals/{month}/{owner}", Bill.by_owner)
domain.mount("/my-figures", Bill.of_owner.top)


@domain.route("GET", "/whoami")
def whoami(book: Book, caller: Caller) -> dict[str, str]:
    """Show the caller."""
    assert caller is book.caller
    return {
        "subject": caller.subject,
        "groups": " ".join(sorted(caller.groups)),
        "tenant": caller.tenant,
    }


@domain.route("GET", "/leak")
def leak(book: Book, limit: int, cursor: str | None = None) -> Page[Bill]:
    """List all bills, without a thought about their owners."""
    return book.page(Bill.search(""), limit=limit, cursor=cursor)


@domain.route("GET", "/leaks/{id}")
def leak_one(book: Book, id: str) -> Bill:
    """Show a bill in a transaction."""
    with book.transaction() as t:
        return t.get(Bill.key(id))


@domain.route("GET", "/everything")
def everything(book: Book, limit: int, cursor: str | None = None) -> Page[Bill]:
    """List all bills on purpose."""
    with book.as_system():
        return book.page(Bill.search(""), limit=limit, cursor=cursor)


DAICHO = Daicho(domain)
