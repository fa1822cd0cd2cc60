"""Deletes the items that refer to one before it is deleted (``ref(on_delete="cascade")``).

They are deleted one after another, as `daicho.book.book.Book.delete` deletes an item: none is left
without the item that it refers to. If there are more than one request deletes, a repeat continues:
the API starts a job that repeats it (`daicho.book.cascade_worker`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from daicho.declare.entity import Entity
from daicho.declare.queries import ItemRef
from daicho.errors import ExceedsBounds, Invalid, NotFound, Referred, Unfinished
from daicho.query.key_resolver import build_not_found
from daicho.storage.attributes import Image
from daicho.write.field_changes import read_ref
from daicho.write.item_writer import ItemWriter
from daicho.write.referrers import Referrers, list_references

MAX_CASCADED = 100
"""How many items one request deletes before the one that they refer to."""
ATTEMPTS = 3
"""How often the deletion is tried, if other items refer to the item meanwhile."""


@dataclass
class Cascade:
    """Deletes items with what refers to them, one after another.

    ``deleted``: how many items that referred to others the deletion that is under way has deleted.
    """

    writer: ItemWriter
    deleted: int = 0
    _depth: int = 0

    def delete_item(
        self,
        ref: ItemRef[Any],
        if_match: int | str | None,
        delete: Callable[[ItemRef[Any]], None],
        delete_last: Callable[[], None],
    ) -> None:
        """Delete what refers to an item, each by ``delete``, then the item by ``delete_last``.

        Raises:
            Forbidden: nothing was deleted.
            NotFound, PreconditionFailed, ForbiddenChange: the item was not deleted; what refers to
                it was, if another request has changed it meanwhile.
            Unfinished: more items refer to it than one request deletes.
            Referred: an item refers to it that is not deleted with it.
            Invalid: a transaction is open.
        """
        if self.writer.open_transaction is not None:
            raise Invalid(
                f"a {ref.entity.__name__} is deleted with what refers to it, which takes several "
                "transactions: delete it outside of one"
            )
        item = self._read(ref, if_match)
        self.deleted = self.deleted if self._depth else 0
        self._depth += 1
        try:
            self._try_to_delete(ref.entity, item, delete, delete_last)
        except (Unfinished, ExceedsBounds) as error:
            detail = f"{self.deleted} items that refer to it were deleted, and there are more"
            raise Unfinished(f"{detail}: repeat the request", item) from error
        finally:
            self._depth -= 1

    def _try_to_delete(
        self,
        entity: type[Entity],
        item: Image,
        delete: Callable[[ItemRef[Any]], None],
        delete_last: Callable[[], None],
    ) -> None:
        for _ in range(ATTEMPTS):
            self._delete_referrers(entity, item, delete)
            with suppress(Referred):  # by an item that has come meanwhile
                delete_last()
                return
        raise Unfinished("items refer to it again and again", item)

    def _read(self, ref: ItemRef[Any], if_match: int | str | None) -> Image:
        """The item, if the caller may delete it."""
        writer = self.writer
        key = writer.key_resolver.resolve_key(ref)
        if key is None:
            raise build_not_found(ref)
        image = writer.table.get(key, consistent=True)
        return writer.planner.check_removal(ref, image, writer.clock(), if_match)

    def _delete_referrers(
        self, entity: type[Entity], item: Image, delete: Callable[[ItemRef[Any]], None]
    ) -> None:
        """Delete what refers to an item."""
        writer, resolver = self.writer, self.writer.key_resolver
        referrers = Referrers(resolver, writer.sender, writer.access, writer.clock, {})
        cascading = entity.cascading_
        found = list_references(resolver.ledger, entity.__name__)
        for plan, reference in found:
            if (plan.name, reference.name) not in cascading:
                referrers.check_none(plan, reference, item)
        for plan, reference in found:
            if referring := cascading.get((plan.name, reference.name)):
                for image in referrers.list_live(plan, reference, item):
                    self._delete_one(read_ref(referring, plan, image), item, delete)

    def _delete_one(
        self, ref: ItemRef[Any], item: Image, delete: Callable[[ItemRef[Any]], None]
    ) -> None:
        """Delete an item that refers to ``item``."""
        if self.deleted >= MAX_CASCADED:
            raise Unfinished("a request deletes no more", item)
        with self.writer.access.suspend(), suppress(NotFound):
            delete(ref)
            self.deleted += 1
