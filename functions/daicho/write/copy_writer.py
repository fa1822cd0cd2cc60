"""Writes the copies of items in the transactions that write the items (ADR 0123)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence

from daicho.declare.entity import Entity
from daicho.errors import Conflict, Invalid, TransactionFailedError, Unwritable
from daicho.layout.base_item import is_expired
from daicho.layout.item_copies import (
    build_copy,
    describe_key,
    parse_origin,
    put_copy,
    remove_copy,
    replace_copy,
)
from daicho.plan import Ledger
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey, get_key
from daicho.storage.requests import Delete, Put, Write, get_write_key
from daicho.storage.table import Table
from daicho.write import validation

ItemChange = tuple[Image | None, Image | None]
"""An item as it was read, and as it will be; None if there is none."""


def check_writable(ledger: Ledger, entity: type[Entity]) -> None:
    """Check that clients may write an entity.

    Raises:
        Unwritable: it is a copy that was not switched, or was switched to its copy.
    """
    name = entity.__name__
    copy = ledger.copies.get(name)
    if copy is not None and copy.is_switched:
        raise Unwritable(f"{name} was switched to {copy.target}: write {copy.target}")
    copy = ledger.copies_by_target.get(name)
    if copy is not None and not copy.is_switched:
        raise Unwritable(
            f"{name} is a copy of {copy.source} until it is switched: write {copy.source}"
        )


def is_copied(ledger: Ledger, entity: str) -> bool:
    """Whether this code writes a copy with each item of an entity."""
    if entity not in ledger.copies:
        return False
    copied_to = ledger.current_generation(entity).plan.copied_to
    return copied_to is not None and not copied_to.switched


@dataclass(frozen=True)
class CopyWriter:
    """Builds the writes of copies. ``table``: where copies of older code are looked up."""

    ledger: Ledger
    table: Table

    def build_writes(self, changes: Iterable[ItemChange], now: dt.datetime) -> list[Write]:
        """The writes of the copies of items that a transaction changes.

        An item of the generation that began the copy, or of a later one, has exactly one copy, of
        the same version. A copy of another version was written by a client after the switch, so
        the transaction is refused. Of any other item, code of before may have changed or deleted
        the item alone: then an earlier copy of it may be left.

        Raises:
            Invalid: a copy cannot be stored or derived.
            Conflict: two items would have the same copy.
        """
        puts: dict[ItemKey, Put] = {}
        deletes: dict[ItemKey, Delete] = {}
        for stored, image in changes:
            entity = attributes.get_text(image or stored or {}, "type") or ""
            if is_copied(self.ledger, entity):
                self._add_writes(entity, stored, image, int(now.timestamp()), puts, deletes)
        merged = (
            Put(put.item, deletes[key].condition, deletes[key].names, deletes[key].values)
            if key in deletes
            else put
            for key, put in puts.items()
        )
        return [*merged, *(delete for key, delete in deletes.items() if key not in puts)]

    def _add_writes(
        self,
        entity: str,
        stored: Image | None,
        image: Image | None,
        now: int,
        puts: dict[ItemKey, Put],
        deletes: dict[ItemKey, Delete],
    ) -> None:
        copy = self.ledger.copies[entity]
        target = self.ledger.current_generation(copy.target)
        generation = 0 if stored is None else attributes.get_integer(stored, "gen") or 0
        is_exact = stored is not None and generation >= copy.since and not is_expired(stored, now)
        before = None
        if stored is not None:
            try:
                before = build_copy(stored, target)
            except Invalid:  # an item of before, which cannot have a copy
                is_exact = False
        after = None if image is None else build_copy(image, target)
        if after is not None:
            validation.check_image(target.plan, after)
            is_same = before is not None and get_key(before) == get_key(after)
            if get_key(after) in puts:
                raise Conflict(f"two items of {entity} would have the same key in {copy.target}")
            if is_same and is_exact and before is not None:
                puts[get_key(after)] = replace_copy(after, before)
                return
            over_expired = None if copy.target in self.ledger.archived_types else now
            puts[get_key(after)] = put_copy(after, over_expired=over_expired)
            if is_same:
                return
        if before is not None:
            earlier = before if is_exact else self._find_earlier(before)
            if earlier is not None:
                deletes[get_key(earlier)] = remove_copy(earlier)

    def _find_earlier(self, copy: Image) -> Image | None:
        """The copy of the same item that is stored at the same key, whatever its version."""
        found = self.table.get(get_key(copy), consistent=True)
        is_same = found is not None and parse_origin(found) == parse_origin(copy)
        return found if is_same else None


def explain_refusal(writes: Sequence[Write], error: TransactionFailedError) -> Conflict | None:
    """The refusal of a transaction because the key of a copy is taken; None for another reason."""
    for place, item in error.refused.items():
        write = writes[place]
        if item is None or not isinstance(write, Put):
            continue
        origin = parse_origin(write.item)
        if origin is not None and parse_origin(item) != origin:
            key = get_write_key(write)
            taken = parse_origin(item)
            by = f"is the copy of {describe_key(taken)}" if taken else "is no copy"
            return Conflict(f"the copy of this item cannot be stored: {describe_key(key)} {by}")
    return None
