"""History: reads the versions of a tenant's items, and forgets old ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daicho.declare.entity import Entity
from daicho.declare.queries import Many, One
from daicho.declare.results import Forgotten
from daicho.errors import NotFound
from daicho.items.arguments import fitting
from daicho.layout import versions
from daicho.layout.base_item import expired, version_of
from daicho.layout.versions import Standing
from daicho.plan import EntityPlan, Ledger, key_fields
from daicho.query.collection_reader import MOST_ROWS, Found, Shown
from daicho.query.key_resolver import Places, described
from daicho.query.paging import Binding, Position
from daicho.storage import item_key
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho.storage.requests import Query
from daicho.storage.table import Table

MOST_FORGOTTEN = 1_000
"""Versions that one request removes at most: 40 batches."""
BLOCK = 250


@dataclass(frozen=True)
class History:
    """A tenant's versions. ``now`` is in epoch seconds."""

    table: Table
    ledger: Ledger
    tenant: str
    places: Places
    now: Callable[[], int]

    def newest(self, one: One[Any], *, consistent: bool = True) -> Image | None:
        """The current item where it is kept by pointer, in one query; None if there is none."""
        base = self.places.key(one)
        if base is None:
            return None
        found = newest_of(self.table, self.check(one.entity, base), consistent=consistent)
        return None if found is None or versions.is_mark(found) else found

    def at(self, one: One[Any]) -> Image | None:
        """An item as it was in the version that is asked for; None if there is no such version."""
        base, number = self.places.key(one), one.version or 0
        if base is None:
            return None
        self.check(one.entity, base)
        key = versions.version_key(base, one.entity.__name__, number)
        pending = self.places.pending
        found = pending[key] if key in pending else self.table.get(key, consistent=True)
        if found is None:
            unkept = self._unkept(one.entity, base)
            return unkept if unkept is not None and version_of(unkept) == number else None
        return None if versions.is_mark(found) else found

    def page(
        self, many: Sequence[Many[Any]], limit: int, cursor: str | None
    ) -> tuple[Sequence[Image], str | None]:
        """A page of an item's versions, newest first, and the cursor behind it.

        Raises:
            NotFound: there never was such an item, or all that was of it is forgotten.
            TypeError: versions of several items have no common order.
        """
        if len(many) > 1:
            raise TypeError("versions are listed of one item at a time")
        one = One(many[0].entity, many[0].parts)
        base = self.places.key(one)
        if base is None:
            raise NotFound(f"no {described(one)}")
        partition = self.check(one.entity, base)
        binding = Binding(self.tenant, ("versions", partition))
        start = binding.read(cursor)
        first = self._unkept(one.entity, base) if start is None else None
        found, end = self._walked(partition, first, start, limit)
        if start is None and end is None and not found:
            raise NotFound(f"no {described(one)}")
        return found, binding.write(end)

    def whole(self, found: Sequence[Image]) -> Sequence[Image]:
        """Base items with their content, in their order; one that is gone by now is left out."""
        return list(self.contents({item_key.key_of(each): each for each in found}).values())

    def contents(self, found: Mapping[ItemKey, Image]) -> Mapping[ItemKey, Image]:
        """See `contents`."""
        return contents(self.table, self.ledger, found)

    def standing(self, entity: type[Entity], base: ItemKey) -> Standing:
        """What stands of an item, for who writes its next version."""
        partition = self.check(entity, base)
        if entity.versioned_ == "pointer":
            return versions.standing(None, newest_of(self.table, partition), by_pointer=True)
        item = self.table.get(base, consistent=True)
        if item is not None and expired(item, self.now()):
            item = None  # declared before versions were: nothing that is versioned expires
        known = item is not None and versions.is_kept(item)
        newest = None if known else newest_of(self.table, partition)
        return versions.standing(item, newest, by_pointer=False)

    def forget(self, one: One[Any]) -> Forgotten:
        """Remove the versions before the newest one, oldest first, a thousand at most.

        Of a deleted item nothing stays but the mark that it was deleted, with its number; of what
        is forgotten its number, for an hour.

        Raises:
            NotFound: there never was such an item.
        """
        base = self.places.key(one)
        last = 0 if base is None else self.standing(one.entity, base).last
        if base is None or not last:
            raise NotFound(f"no {described(one)}")
        older = versions.number_key(last - 1)
        partition = versions.history(base, one.entity.__name__)
        needed = ("PK", "SK", "version", "ttl")
        query = Query(partition, high=older, attributes=needed, limit=BLOCK, consistent=True)
        removed = 0
        for page in self.table.pages(query):
            still = [each for each in page.items if not versions.is_forgotten(each)]
            self.table.batch_write([versions.forgotten(each, self.now()) for each in still])
            removed += len(still)
            if removed >= MOST_FORGOTTEN:
                return Forgotten(removed, done=page.last is None)
        return Forgotten(removed, done=True)

    def check(self, entity: type[Entity], base: ItemKey) -> str:
        """The partition of an item's versions.

        Raises:
            Invalid: its key leaves no room for one.
        """
        name = key_fields(self.plan(entity))[-1]
        return fitting(name, base.pk, lambda _: versions.history(base, entity.__name__))

    def _walked(
        self, partition: str, first: Image | None, start: Position | None, limit: int
    ) -> Found:
        """Versions below ``start``, newest first; ``first`` is one that has no item yet."""
        shown, decided = Shown(limit), start
        if first is not None and shown.take(first):
            decided = Position(versions.number_key(version_of(first)))
        below = None if decided is None else decided.order
        query = Query(partition, below=below, forward=False, limit=limit + 1, consistent=True)
        examined = 0
        for page in self.table.pages(query):
            for image in page.items:
                examined += 1
                if shown.is_full or examined > MOST_ROWS:
                    return shown.images, decided
                if not versions.is_mark(image) and not shown.take(image):
                    return shown.images, decided
                decided = Position(image["SK"]["S"])
        return shown.images, None

    def _unkept(self, entity: type[Entity], base: ItemKey) -> Image | None:
        """The current item, if it has no version item: older code has written it, or a load."""
        if entity.versioned_ == "pointer":
            return None
        before = self.standing(entity, base)
        if before.item is None or not before.unkept:
            return None
        return {**before.item, "version": {"N": str(before.last)}}

    def plan(self, entity: type[Entity]) -> EntityPlan:
        """The newest plan of an entity."""
        return self.ledger.current(entity.__name__).plan


def contents(
    table: Table, ledger: Ledger, found: Mapping[ItemKey, Image]
) -> Mapping[ItemKey, Image]:
    """Base items by their keys, each pointer replaced by the version item that it points at.

    One that is gone by now is left out.
    """
    pointed = {
        key: versions.version_key(key, image["type"]["S"], version_of(image))
        for key, image in found.items()
        if image["type"]["S"] in ledger.pointer_types
    }
    if not pointed:
        return found
    items = table.batch_get(pointed.values(), consistent=True).whole()
    content = dict(found)
    for base, key in pointed.items():
        item = items.get(key)
        if item is None or versions.is_mark(item):
            # Forgotten since the base item was read: then there is a newer one.
            item = newest_of(table, key.pk)
        del content[base]
        if item is not None and not versions.is_mark(item):
            content[base] = item
    return {key: content[key] for key in found if key in content}


def newest_of(table: Table, partition: str, *, consistent: bool = True) -> Image | None:
    """The version item with the highest number, which may be a mark; None if there is none."""
    query = Query(partition, forward=False, limit=1, consistent=consistent)
    return next(iter(table.query(query).items), None)
