"""Requests about items that refer to others: whatever fails, none refers to nothing at any time.

An item is deleted while others begin to refer to it, cascades end between two deletions, and are
repeated by a later request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

from daicho.book.book import Book
from daicho.errors import Invalid, ReferenceNotFound, Unfinished
from daicho.storage.attributes import Image, ItemKey
from daicho.testing.faults.processes import SimulatedProcess
from tests.delivery.book_requests import BookRequests, Call, Races
from tests.delivery.referring_entities import REFERENCES, Chair, Cushion, Lease, Owner
from tests.simulator.oracle.unique_values import compare_unique_values

CLASSES: Mapping[str, Any] = {"Chair": Chair, "Cushion": Cushion, "Lease": Lease, "Owner": Owner}
RACES = (("delete", "refer"), ("refer", "delete"), ("delete", "put"), ("delete", "delete"))
"""The requests that disturb each other most; the first one stops meanwhile."""


class ReferringRequests(BookRequests):
    """Draws requests about few items, so that they meet. One change is one whole moment."""

    races: ClassVar[Mapping[str, Races]] = {}
    other_races: ClassVar[Races] = RACES

    def draw(self) -> tuple[str, Callable[[SimulatedProcess], None]]:
        """A request. The references are compared before it: each write is one transaction."""
        self._compare()
        return super().draw()

    def find_differences(self) -> list[str]:
        """See the base class; and whatever referred to nothing, at any time."""
        self._compare()
        images = [item for _, item in self._deployment.dynamodb.items]
        now = int(self._deployment.clock.now().timestamp())
        compared = compare_unique_values(images, self._deployment.entities.ledger, now)
        return [*super().find_differences(), *compared.differences]

    def patch_book(self) -> AbstractContextManager[None]:
        """Nothing is marked: no image is poison."""
        return nullcontext()

    def _draw_request_for(self, name: str, id: str, verb: str, text: str) -> tuple[str, Call]:
        """A request about an entity; ``id`` and ``verb`` are drawn if they are empty.

        A prepared race is about one item: some requests refer to it, whatever entity is drawn.
        """
        pick = self._choices.pick
        id, other = id or pick(self._ids), pick(self._ids)
        if verb == "refer":
            name, other = pick(("Lease", "Chair") if name != "Chair" else ("Cushion",)), id
        elif verb == "delete" and name in ("Lease", "Cushion"):
            name = pick(("Owner", "Chair"))
        key = CLASSES[name].key(id)
        field, _ = REFERENCES.get(name, ("", ""))
        is_empty = name == "Lease" and verb != "refer" and pick((False, False, True))
        reference = {field: None if is_empty else other} if field else {}
        item = CLASSES[name](id=id, **reference)
        change = reference if field and pick((False, True)) else {"note": text}
        if name == "Cushion":
            change = reference

        def move_and_delete(book: Book) -> None:
            with book.transaction() as transaction:
                transaction.delete(Lease.key(id))
                transaction.put(Lease(id=other, owner=id))

        calls: dict[str, Call] = {
            "put": lambda book: book.put(item),
            "refer": lambda book: book.put(item),
            "create": lambda book: book.create(item),
            "change": lambda book: book.change(key, change),
            "delete": lambda book: book.delete(key),
            "swap": move_and_delete,
        }
        verb = verb or pick(("put", "put", "change", "delete", "delete", *calls))
        return f"{verb} {item!r} {change}", _admit_refusals(calls[verb])

    def _check_change(self, key: ItemKey, old: Image | None, new: Image | None) -> None:
        """Nothing: a transaction changes one item after another, and is compared as a whole."""

    def _compare(self) -> None:
        """Compare the references of all items with the items that exist."""
        items = [item for _, item in self._deployment.dynamodb.items if "version" in item]
        live = {
            (item["type"]["S"], item["id"]["S"])
            for item in items
            if item.get("type", {}).get("S") in CLASSES and item["PK"]["S"].startswith("t#")
        }
        for item in items:
            field, target = REFERENCES.get(item.get("type", {}).get("S", ""), ("", ""))
            referred = item.get(field, {}).get("S") if field else None
            if referred is not None and (target, referred) not in live:
                self._wrong.append(
                    f"{item['PK']['S']} refers to {target} {referred}, which is gone"
                )


def _admit_refusals(call: Call) -> Call:
    """A request that may be refused for a reference, be unfinished, or need a request alone."""

    def send(book: Book) -> None:
        try:
            call(book)
        except (ReferenceNotFound, Unfinished):
            pass
        except Invalid as error:
            if "several transactions" not in str(error):
                raise

    return send
