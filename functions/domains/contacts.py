"""Contacts of a team (seed 001): found by the beginning of a name, newest first."""

from __future__ import annotations

from typing import Literal

from daicho import (
    Aggregate,
    Book,
    Count,
    Domain,
    Entity,
    Key,
    Listing,
    Page,
    Search,
    each,
    field,
    ref,
    refs,
    through,
    uid,
)

LATEST_CALLS = 3
MAX_CATEGORIES = 1_000
"""The limit of a tenant: a search of contacts reads the names of all its categories."""


class Category(Entity):
    """A category of contacts. Only this item has its name, so renaming it is one write."""

    id: str = uid()
    name: str = field(min_length=1, max_length=256)

    key = Key(id, partition=0)
    count = Aggregate(Count())


class Contact(Entity):
    """A person to call. A category is shown while it exists."""

    id: str = uid()
    name: str = field()
    company: str = field(default="", kind="company")
    phone: str = field(default="", kind="phone")
    email: str = field(default="")
    categories: set[str] = refs(Category)

    key = Key(id)
    # Without email: a search would match only its beginning, and cost 9 more write units a contact.
    search = Search(name, company, phone, through(categories, Category.name))
    in_category = Listing(each(categories))
    of_category = Aggregate(Count(), each(categories), ranked=True)
    count = Aggregate(Count())


class Call(Entity):
    """A call with a contact."""

    contact: str = ref(Contact, must_exist=True)
    id: str = uid()
    direction: Literal["in", "out"] = "out"
    seconds: int = field(default=0, ge=0, le=86_400)
    note: str = field(default="", max_length=2_000)

    key = Key(contact, id)
    latest = Listing(contact)


domain = Domain("contacts", Category, Contact, Call, examples={
    "categories": ["01KAKZ1A2B3C4D5E6F7G8H9J0K"], "category": "01KAKZ1A2B3C4D5E6F7G8H9J0K",
    "category_names": ["Customers"], "company": "株式会社サンプル",
    "contact": "01KAKZ0C7SJ7W9V0E3M4N5P6Q7", "include": "calls", "name": "山田 美香",
    "note": "Asked for an offer", "phone": "+81 3-1234-5678", "q": "yamada", "seconds": 180,
})  # fmt: skip
domain.resource(
    "/categories/{id}", Category, "POST GET PATCH DELETE LIST", max_items=MAX_CATEGORIES
)
domain.resource("/contacts/{id}", Contact, "POST GET PATCH DELETE")
domain.resource("/contacts/{contact}/calls/{id}", Call, "POST GET DELETE")
domain.mount("/contacts/{contact}/calls", Call.latest)


@domain.route("GET", "/contacts")
def contacts(book: Book, limit: int, cursor: str | None) -> Page[Contact]:
    """List all contacts, newest first."""
    return book.page(Contact.search(""), limit=limit, cursor=cursor)


@domain.route("GET", "/categories/{id}/contacts")
def members(book: Book, id: str, limit: int, cursor: str | None) -> Page[Contact]:
    """List the contacts of a category, newest first."""
    page = book.page(Contact.in_category(id), limit=limit, cursor=cursor)
    book.get(Category.key(id))  # 404 if the category does not exist
    return page


@domain.include(Contact)
def category_names(book: Book, contacts: list[Contact]) -> list[dict[str, str]]:
    """The names of each contact's categories by id, without deleted categories."""
    ids = sorted({id for contact in contacts for id in contact.categories})
    categories = book.find_all([Category.key(id) for id in ids])
    names = {category.id: category.name for category in categories if category}
    return [{id: names[id] for id in sorted(c.categories) if id in names} for c in contacts]


@domain.include(Contact, optional=True)
def calls(book: Book, contacts: list[Contact]) -> list[list[Call]]:
    """The latest calls of each contact."""
    lists = [Call.latest(contact.id) for contact in contacts]
    return [page.items for page in book.pages(lists, limit=LATEST_CALLS)]
