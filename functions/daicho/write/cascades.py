"""Deletes the items that refer to one before it is deleted (``ref(on_delete="cascade")``).

They are deleted one after another, as `daicho.book.book.Book.delete` deletes an item: none is left
without the item that it refers to. If there are more than one request deletes, it is answered 503,
and a repeat of the request continues.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from daicho.declare.queries import ItemRef
from daicho.errors import Invalid, NotFound, Referred, Unfinished
from daicho.query.key_resolver import build_not_found
from daicho.write.field_changes import read_ref
from daicho.write.item_writer import ItemWriter
from daicho.write.referrers import Referrers, list_references

MAX_CASCADED = 100
"""How many items one request deletes before the one that they refer to."""
ATTEMPTS = 3
"""How often the deletion is tried, if other items refer to the item meanwhile."""


@dataclass
class Cascade:
    """Deletes items with what refers to them, for one request.

    ``deleted``: how many items that referred to others it has deleted.
    """

    writer: ItemWriter
    deleted: int = 0

    def delete_item(
        self,
        ref: ItemRef[Any],
        if_match: int | str | None,
        delete: Callable[[ItemRef[Any]], None],
        delete_last: Callable[[], None],
    ) -> None:
        """Delete what refers to an item, each by ``delete``, then the item by ``delete_last``.

        Raises:
            NotFound, Forbidden, PreconditionFailed, ForbiddenChange: nothing was deleted.
            Unfinished: more items refer to it than one request deletes: repeat it.
            Referred: an item refers to it that is not deleted with it.
            Invalid: a transaction is open.
        """
        if self.writer.open_transaction is not None:
            raise Invalid(
                f"a {ref.entity.__name__} is deleted with what refers to it, which takes several "
                "transactions: send the request without an Idempotency-Key"
            )
        for _ in range(ATTEMPTS - 1):
            self._delete_referrers(ref, if_match, delete)
            with suppress(Referred):  # by an item that has come meanwhile
                delete_last()
                return
        self._delete_referrers(ref, if_match, delete)
        delete_last()

    def _delete_referrers(
        self, ref: ItemRef[Any], if_match: int | str | None, delete: Callable[[ItemRef[Any]], None]
    ) -> None:
        """Delete what refers to an item, if the caller may delete the item."""
        writer, resolver = self.writer, self.writer.key_resolver
        key, now = resolver.resolve_key(ref), writer.clock()
        if key is None:
            raise build_not_found(ref)
        image = writer.table.get(key, consistent=True)
        writer.planner.check_removal(ref, image, now, if_match)
        referrers = Referrers(resolver, writer.sender, writer.access, writer.clock, {})
        cascading = {
            (spec.entity, spec.name): entity
            for entity, spec in ref.entity.referrers_
            if spec.on_delete == "cascade"
        }
        found = list_references(resolver.ledger, ref.entity.__name__)
        for plan, reference in found:
            if (plan.name, reference.name) not in cascading:
                referrers.check_none(plan, reference, image or {})
        for plan, reference in found:
            if entity := cascading.get((plan.name, reference.name)):
                for referrer in referrers.list_live(plan, reference, image or {}):
                    self._delete_one(read_ref(entity, plan, referrer), delete)

    def _delete_one(self, ref: ItemRef[Any], delete: Callable[[ItemRef[Any]], None]) -> None:
        if self.deleted >= MAX_CASCADED:
            raise Unfinished(
                f"{self.deleted} items that refer to it were deleted, and there are more: repeat "
                "the request"
            )
        self.deleted += 1
        with self.writer.access.suspend(), suppress(NotFound):
            delete(ref)
