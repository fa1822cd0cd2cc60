"""A set of references with routes for its members, counts, and an included field."""

from __future__ import annotations

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
    uid,
)


class Category(Entity):
    """All of them are one collection."""

    id: str = uid()
    name: str = field(min_length=1, max_length=256)

    key = Key(id, partition=0)
    count = Aggregate(Count())


class Contact(Entity):
    """It may be in several categories."""

    id: str = uid()
    name: str = field()
    phone: str = field(default="", kind="phone")
    categories: set[str] = refs(Category)

    key = Key(id)
    search = Search(name, phone)
    in_category = Listing(each(categories))
    of_category = Aggregate(Count(), each(categories), ranked=True)
    count = Aggregate(Count())


class Call(Entity):
    """It needs an existing contact."""

    contact: str = ref(Contact, must_exist=True)
    id: str = uid()
    seconds: int = field(default=0, ge=0, le=86_400)

    key = Key(contact, id)
    latest = Listing(contact)


domain = Domain("contacts", Category, Contact, Call, examples={
    "categories": ["01KAKZ1A2B3C4D5E6F7G8H9J0K"], "category": "01KAKZ1A2B3C4D5E6F7G8H9J0K",
    "contact": "01KAKZ0C7SJ7W9V0E3M4N5P6Q7", "include": "calls", "name": "Mika",
    "phone": "+81 3-1234-5678",
})  # fmt: skip
domain.resource("/categories/{id}", Category, "POST GET PATCH DELETE LIST", max_items=1_000)
domain.resource("/contacts/{id}", Contact, "POST GET PATCH DELETE")
domain.resource("/contacts/{contact}/calls/{id}", Call, "POST GET DELETE")
domain.mount("/contacts/{contact}/calls", Call.latest)


@domain.route("GET", "/contacts")
def contacts(book: Book, limit: int, cursor: str | None) -> Page[Contact]:
    """List all contacts, newest first."""
    return book.page(Contact.search(""), limit=limit, cursor=cursor)


@domain.include(Contact, optional=True)
def calls(book: Book, contacts: list[Contact]) -> list[list[Call]]:
    """The latest calls of each contact."""
    lists = [Call.latest(contact.id) for contact in contacts]
    return [page.items for page in book.pages(lists, limit=3)]
