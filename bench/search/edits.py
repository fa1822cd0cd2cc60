"""Costs of writes and edits on Dynoxide, through the real Book, projector and rollup."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from bench.operations import House
from bench.search.contact_generator import Crowd
from domains.contacts import Category, Contact
from tests.support.dynoxide import serving

CONTACTS = 300
EDITED = 100
IN_A_CATEGORY = 10_000
"""Number of contacts of the renamed category.

Most of them have a name of one letter, so that they are made in a short time.
"""


@dataclass(frozen=True)
class Edit:
    """Write units of one write: of the item itself, and of all derived writes."""

    what: str
    base: float
    derived: float
    rollup: float


def edits() -> Iterator[Edit]:
    """Measure the creation of a contact and each kind of change."""
    with serving() as endpoint:
        house = House(endpoint)
        crowd = Crowd(CONTACTS + IN_A_CATEGORY, "edits")
        made = iter(crowd)
        book = house.book
        for category in crowd.categories:
            book.create(Category(id=category.id, name=category.name))
        house.project()
        house.roll_up()
        contacts = list(islice(made, CONTACTS))

        def create() -> None:
            for contact in contacts:
                book.create(
                    Contact(
                        id=contact.id,
                        name=contact.name,
                        company=contact.company,
                        phone=contact.phone,
                        email=contact.email,
                        categories={category.id for category in contact.categories},
                    )
                )

        yield _edit(house, "a contact is created", CONTACTS, create)
        first, second = crowd.categories[0].id, crowd.categories[1].id
        changes: dict[str, Callable[[int], dict[str, object]]] = {
            "its phone number changes": lambda n: {"phone": f"090-5555-{n:04d}"},
            "its name changes": lambda n: {"name": f"新垣 花子{n}"},
            "its company changes": lambda n: {"company": f"株式会社ナミキ建設{n}"},
            "its email address changes": lambda n: {"email": f"hanako{n}@example.jp"},
            "it has one category": lambda _: {"categories": {first}},
            "it has another category": lambda _: {"categories": {second}},
        }
        for what, change in changes.items():

            def apply(change: Callable[[int], dict[str, object]] = change) -> None:
                for number, contact in enumerate(contacts[:EDITED]):
                    book.change(Contact.key(contact.id), change(number))

            yield _edit(house, what, EDITED, apply)
        for member in islice(made, IN_A_CATEGORY - EDITED):
            book.create(Contact(id=member.id, name=member.name[0], categories={second}))
        house.project()
        house.roll_up()
        others = contacts[EDITED:]
        members = sum(second in {one.id for one in contact.categories} for contact in others)
        yield _edit(
            house,
            f"a category of {IN_A_CATEGORY + members:,} contacts is renamed",
            1,
            lambda: book.change(Category.key(second), {"name": "改名"}),
        )


def _edit(house: House, what: str, many: int, work: Callable[[], object]) -> Edit:
    units: list[float] = []
    for step in (work, house.project, house.roll_up):
        with house.meter.counting() as consumed:
            step()
        units.append(consumed.writes / many)
    return Edit(what, *units)
