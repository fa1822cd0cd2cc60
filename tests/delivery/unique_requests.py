"""Requests about items with unique values during a schedule, operation by operation.

Few values and few items, so that they meet: creations, changes, deletions, moves, swaps in one
transaction, restored versions and lookups. Items expire, and DynamoDB deletes an item and its
reservation in any order, or late.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from daicho.book.book import Book
from daicho.errors import NotUnique
from daicho.layout.reservations import get_owner
from daicho.storage import keys
from daicho.storage.table import Table
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.simulated_entities import TENANT
from daicho.testing.stack_settings import TABLE
from tests.delivery.book_requests import BookRequests, Call
from tests.delivery.side_items import find_side_item_differences
from tests.delivery.unique_entities import Badge, Desk, Member
from tests.simulator.oracle.unique_values import compare_unique_values, is_reservation

VALUES = ("Ab", "aB", "b", None)
ORGS = ("x", "y")
ROOMS = ("a", "b")
RACES = (("put", "put"), ("create", "create"), ("change", "put"), ("delete", "create"))
"""The requests that disturb each other most; the first one stops meanwhile."""


class UniqueRequests(BookRequests):
    """Draws requests about the entities with unique values."""

    _value: str | None = None
    """The value that the prepared requests are about."""
    _found: list[str] | None = None
    """The differences at the first moment that had any."""

    def draw(self) -> tuple[str, Callable[[SimulatedProcess], None]]:
        """A request. Reservations are compared before each one, because items expire soon.

        Each write of an item is one transaction, so there is no moment with a difference.
        """
        self._found = self._found or self._compare()
        return super().draw()

    def prepare_race(self) -> None:
        """Let the next two requests be about items with one value, and disturb each other.

        If DynamoDB has deleted an item, and not its reservation yet, one request takes the value
        over, and the other one creates the item again.
        """
        self._found = self._found or self._compare()
        name, verbs = self._choices.pick(self._names), self._choices.pick(RACES)
        self._value = self._choices.pick(VALUES)
        self._prepared = deque((name, "", verb) for verb in verbs)
        dynamodb = self._deployment.dynamodb
        left = [
            (owner, keys.parse(key.pk)[-1])
            for key, item in dynamodb.items
            if is_reservation(item) and "=Badge." in key.pk
            for owner in [get_owner(item)]
            if owner is not None and dynamodb.find(owner) is None
        ]
        if left:
            owner, self._value = self._choices.pick(left)
            owner_id = keys.parse(owner.pk)[-1]
            other_id = next(id for id in self._ids if id != owner_id)
            self._prepared = deque((("Badge", other_id, "put"), ("Badge", owner_id, "put")))

    def find_differences(self) -> list[str]:
        """The errors in reservations and versions, in a line each.

        At the end every value is written once more. It is refused if a live item has it. After
        that no reservation without an owner is left, because that write has met it. A desk has two
        values, and one of them may refuse the write: the other one is left to DynamoDB's TTL.
        """
        items = dict(self._deployment.dynamodb.items)
        entities = self._deployment.entities
        differences = [f"before: {each}" for each in self._found or ()] + self._compare()
        client: Any = self._deployment.dynamodb
        book = Book(Table(client, TABLE), entities.ledger, TENANT, clock=self._now, parallelism=1)
        for name in self._names:
            for number, value in enumerate(VALUES[:3]):
                for scope in (0, 1):
                    with suppress(NotUnique):
                        book.create(self._build_item(name, f"new {number}{scope}", value, scope))
        written = self._compare(unowned=("Badge", "Member"))
        dynamodb = self._deployment.dynamodb
        for key in [key for key, _ in dynamodb.items if dynamodb.is_expired(key)]:
            dynamodb.expire(key)
        return [
            *differences,
            *(f"after more writes: {difference}" for difference in written),
            *(f"after TTL: {difference}" for difference in self._compare(unowned=self._names)),
            *find_side_item_differences(items, entities),
        ]

    def _compare(self, *, unowned: Sequence[str] = ()) -> list[str]:
        """The differences, and reservations without owner of these entities."""
        now = int(self._deployment.clock.now().timestamp())
        images = [item for _, item in self._deployment.dynamodb.items]
        compared = compare_unique_values(images, self._deployment.entities.ledger, now)
        left = [
            f"{key.pk}: no live owner"
            for key in compared.unowned
            if any(f"={name}." in key.pk for name in unowned)
        ]
        return [*compared.differences, *left]

    def patch_book(self) -> AbstractContextManager[None]:
        """Nothing is marked: no image is poison."""
        return nullcontext()

    def _draw_request_for(self, name: str, id: str, verb: str, text: str) -> tuple[str, Call]:
        """A request about an entity; ``id`` and ``verb`` are drawn if they are empty."""
        pick = self._choices.pick
        is_prepared = bool(verb)
        id, other, scope = id or pick(self._ids), pick(self._ids), pick((0, 1))
        value = self._value if is_prepared else pick(VALUES)
        entity: Any = {"Badge": Badge, "Desk": Desk, "Member": Member}[name]
        item = self._build_item(name, id, value, scope)
        key = entity.key(*self._list_parts(name, id, scope))
        other_key = entity.key(*self._list_parts(name, other, scope))
        changes: Mapping[str, Any] = pick(
            ({"name": value}, {"name": value}, {"note": text}, self._change_scope(name, scope))
        )
        if name == "Desk" and "note" in changes:
            changes = {"number": pick((0, 1))}

        def swap(book: Book) -> None:
            with book.transaction() as transaction:
                first, second = transaction.get(key), transaction.get(other_key)
                transaction.change(key, {"name": second.name})
                transaction.change(other_key, {"name": first.name})

        calls: dict[str, Call] = {
            "put": lambda book: book.put(item),
            "create": lambda book: book.create(item),
            "change": lambda book: book.change(key, changes),
            "delete": lambda book: book.delete(key),
            "swap": swap,
            "find": lambda book: _find_by_value(book, name, value, scope),
        }
        if name == "Member":
            old = Member.versions.at(id, version=pick((1, 2)))
            calls["restore"] = lambda book: book.restore(old)
        verb = verb or pick(("put", "create", "change", "change", *calls))
        return f"{verb} {name} {id} {other} {value} {scope} {dict(changes)}", calls[verb]

    def _build_item(self, name: str, id: str, value: str | None, scope: int) -> Any:
        match name:
            case "Badge":
                return Badge(id=id, name=value)
            case "Desk":
                room: Any = ROOMS[scope]
                return Desk(room=room, id=id, name=value, number=scope)
            case _:
                return Member(id=id, org=ORGS[scope], name=value)

    def _list_parts(self, name: str, id: str, scope: int) -> tuple[str, ...]:
        return (ROOMS[scope], id) if name == "Desk" else (id,)

    def _change_scope(self, name: str, scope: int) -> Mapping[str, Any]:
        match name:
            case "Desk":
                return {"room": ROOMS[1 - scope]}
            case "Member":
                return {"org": ORGS[scope]}
            case _:
                return {"note": "again"}


def _find_by_value(book: Book, name: str, value: str | None, scope: int) -> None:
    """Look up an item by its value, and check that it has it."""
    if value is None:
        return
    found: Any
    match name:
        case "Badge":
            found = book.find(Badge.one_name(value))
        case "Desk":
            found = book.find(Desk.one_name(value))
        case _:
            found = book.find(Member.one_name(ORGS[scope], value))
    if found is not None and found.name.lower() != value.lower():
        raise AssertionError(f"the lookup of {value} found {found}")
