"""Transactions: several items written at once, all of them or none.

Everything is read before it is written, and written only if it is still as it was read; so the
items may depend on each other, and of two who write at the same time one is refused (`Raced`) and
may begin anew. An item that is written twice is written once, as it is in the end.

Source: "Amazon DynamoDB Transactions: How it works", AWS documentation: at most 100 writes, each of
another item, and 4 MB.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from daicho.declare.entity import Entity
from daicho.declare.queries import One
from daicho.declare.split import split_of
from daicho.declare.stored_objects import objects_of
from daicho.errors import (
    Conflict,
    Invalid,
    NotFound,
    PreconditionFailed,
    Raced,
    ReferenceNotFound,
)
from daicho.errors import TransactionFailedError as Failed
from daicho.items import mapper
from daicho.layout import base_item
from daicho.query.key_resolver import Places, described
from daicho.query.version_history import History
from daicho.storage import attributes
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey, key_of
from daicho.storage.requests import (
    MOST_WRITES,
    ConditionCheck,
    Delete,
    Put,
    Update,
    Write,
    key_of_write,
)
from daicho.storage.table import Table
from daicho.write import conditions
from daicho.write.item_builder import Fields
from daicho.write.version_writer import Revisions, fields_of

E = TypeVar("E", bound=Entity)
MOST_BYTES = 4 * 1024 * 1024
"""Of all items of a transaction."""
RECORD = "the record of its Idempotency-Key"
ONE_WAY = (
    "in a transaction, or a request under an Idempotency-Key, an item with sections is changed as "
    "a whole, once, or section by section; and after that it is not read as a whole"
)


class TransactionWriter(Protocol):
    """What a transaction needs of the writer that opens it."""

    table: Table
    places: Places
    history: History

    @property
    def clock(self) -> Callable[[], dt.datetime]:
        """What tells the time."""

    def fields(self, item: Entity) -> Fields:
        """The attribute values of a new item."""

    def drafted(self, entity: type[Entity], fields: Fields, created: dt.datetime) -> Fields:
        """The whole image of an item of version 1, checked."""

    def kept(self, entity: type[Entity], image: Image, there: Image) -> Fields:
        """The fields of an image in place of an item that is there."""

    def changed(self, entity: type[Any], there: Image, changes: Mapping[str, Any]) -> Fields:
        """The fields of an item with some of them changed."""

    def why_taken(self, entity: type[Entity], there: Image | None, now: dt.datetime) -> str:
        """Why no item can be created, in words."""

    def archived(self, entity: type[Entity]) -> bool:
        """Whether what expires of an entity waits for the archive."""

    def commit(self, writes: Sequence[Write]) -> None:
        """Do all of these writes or none."""


class Transaction:
    """What a domain writes in one piece: ``with book.transaction() as t``.

    Its methods are those of the `Book`, which joins in while it is open. What they give is what
    will stand there when it is committed.
    """

    def __init__(self, writer: TransactionWriter) -> None:
        self._writer = writer
        self._seen: dict[ItemKey, Image | None] = {}
        self._given: dict[ItemKey, Write] = {}
        self.apart: dict[ItemKey, Any] = {}
        """What becomes of items whose sections it changes (`daicho.write.section_writer`)."""
        self.images: dict[ItemKey, Image | None] = {}
        """What stands at each key that was read, as the transaction would leave it."""
        self._revisions = Revisions(writer.history)
        self.record: Put | None = None
        """What is kept of the request, if it is to be done once (`daicho.write.idempotency`)."""

    def find(self, one: One[E]) -> E | None:
        """One item or None, which is still so when the transaction is committed."""
        there = self._standing(one.entity, self._writer.places.key(one))
        return None if there is None else mapper.item_of(one.entity, there)

    def get(self, one: One[E]) -> E:
        """One item, which is still as it is when the transaction is committed.

        Raises:
            NotFound: there is none, or it has expired.
        """
        found = self.find(one)
        if found is None:
            raise NotFound(f"no {described(one)}")
        return found

    def find_all(self, ones: Sequence[One[E]]) -> list[E | None]:
        """Items as in `find`, in one request for each hundred; with versions, in one for each.

        Raises:
            UnprocessedError: DynamoDB did not get round to all of them in time.
        """
        keys = [self._writer.places.key(each) for each in ones if not each.entity.versioned_]
        unread = [key for key in keys if key is not None and key not in self.images]
        found = self._writer.table.batch_get(unread, consistent=True).whole()
        for key in unread:
            self._seen[key] = self.images[key] = found.get(key)
        return [self.find(each) for each in ones]

    def create(self, item: E) -> E:
        """See `Book.create`."""
        entity, now = type(item), self._writer.clock()
        image = self._writer.drafted(entity, self._writer.fields(item), now)
        self._check_vacant(entity, key_of(image), now)
        return self._leave(entity, image, now)

    def put(self, item: E, *, if_match: int | None = None, if_none_match: bool = False) -> E:
        """See `Book.put`."""
        writer, entity, now = self._writer, type(item), self._writer.clock()
        image = writer.drafted(entity, writer.fields(item), now)
        there = self._standing(entity, key_of(image))
        if there is None:
            if if_match is not None:
                raise PreconditionFailed("there is no such item")
            try:
                self._check_vacant(entity, key_of(image), now)
            except Conflict as taken:
                raise (PreconditionFailed(taken.detail) if if_none_match else taken) from None
            return self._leave(entity, image, now)
        if if_none_match:
            raise PreconditionFailed(writer.why_taken(entity, there, now))
        _check_version(there, if_match)
        fresh = writer.drafted(entity, writer.kept(entity, image, there), now)
        return self._leave(entity, conditions.successor(entity, fresh, there), now)

    def change(self, one: One[E], changes: Mapping[str, Any], *, if_match: int | None = None) -> E:
        """See `Book.change`."""
        writer, entity, now = self._writer, one.entity, self._writer.clock()
        key = writer.places.key(one)
        there = self._standing(one.entity, key)
        if key is None or there is None:
            raise NotFound(f"no {described(one)}")
        _check_version(there, if_match)
        created = dt.datetime.fromisoformat(attributes.text(there, "created_at") or "")
        fresh = writer.drafted(entity, writer.changed(entity, there, changes), created)
        if key_of(fresh) != key:  # it moves
            self._check_vacant(entity, key_of(fresh), now)
            self.images[key] = None
        return self._leave(entity, conditions.successor(entity, fresh, there), now)

    def delete(self, one: One[E], *, if_match: int | None = None) -> None:
        """See `Book.delete`.

        Raises:
            TypeError: more goes with the item than a transaction sees: the `Book` deletes it.
        """
        name = one.entity.__name__
        if split_of(one.entity) is not None or objects_of(one.entity):
            raise TypeError(f"{name} has more than an item: it is deleted by the Book, on its own")
        self.remove(one, if_match=if_match)

    def remove(self, one: One[E], *, if_match: int | None) -> None:
        """Delete an item, and nothing that stands beside it but its versions."""
        key = self._writer.places.key(one)
        there = self._standing(one.entity, key)
        if key is None or there is None:
            raise NotFound(f"no {described(one)}")
        _check_version(there, if_match)
        self.images[key] = None
        if one.entity.versioned_:
            self._beside(self._revisions.removed(key, self._writer.clock()))

    def restore(self, one: One[E], *, if_match: int | None = None) -> E:
        """See `Book.restore`."""
        writer, entity = self._writer, one.entity
        key = writer.places.key(one)
        old = writer.history.at(one)
        if key is None or old is None:
            raise NotFound(f"no {described(one)}")
        there = self._standing(entity, key)
        if there is not None:
            _check_version(there, if_match)
        elif if_match is not None:
            raise PreconditionFailed("there is no such item")
        fields = fields_of(entity, old)
        if there is not None:
            fields = writer.kept(entity, fields, there)
        created = dt.datetime.fromisoformat(attributes.text(there or old, "created_at") or "")
        return self._leave(entity, writer.drafted(entity, fields, created), writer.clock())

    def add(self, writes: Sequence[Write]) -> None:
        """Let writes with conditions of their own be parts of it: see `Writer.commit`."""
        for each in writes:
            key = key_of_write(each)
            if key in self._given or key in self.images:
                raise ValueError(f"{key} is written twice in one transaction")
            self._given[key] = each

    def change_apart(self, key: ItemKey, writes: Sequence[Write], after: object) -> None:
        """Let writes of an item, and of what stands beside it, be parts of it.

        They take the place of those that it was given before. ``after`` is what becomes of the
        item by them: see `apart`.
        """
        self._given |= {key_of_write(each): each for each in writes}
        self.apart[key] = after

    def check_apart(self, key: ItemKey) -> None:
        """Refuse to look at what stands beside an item that this transaction changes.

        Raises:
            Invalid: it does: the table does not show what will stand there.
        """
        if key in self._given or self.images.get(key) is not self._seen.get(key):
            raise Invalid(ONE_WAY)

    @contextmanager
    def part(self) -> Iterator[None]:
        """Undo what is added here, if it fails."""
        all_of_it: tuple[dict[ItemKey, Any], ...] = (
            *(self._seen, self._given, self.apart, self.images),
            *(self._revisions.known, self._revisions.plans),
        )
        before = [(mine, dict(mine)) for mine in all_of_it]
        try:
            yield
        except BaseException:
            for mine, old in before:
                mine.clear()
                mine.update(old)
            raise

    def commit(self) -> None:
        """Write everything.

        Raises:
            Invalid: it is more than a transaction takes.
            Raced: others changed one of the items; nothing was done.
        """
        record = [] if self.record is None else [self.record]
        writes: list[Write] = [*self._writes(), *self._given.values(), *record]
        if all(isinstance(each, ConditionCheck) for each in writes):
            return
        self._check_size(writes)
        try:
            self._writer.commit(writes)
        except Failed as refused:
            raise Raced("others changed the same at this moment; try again") from refused

    def _standing(self, entity: type[Entity], key: ItemKey | None) -> Image | None:
        """What stands at a key, unless it has expired."""
        if key is None:
            return None
        there = self._there(entity, key)
        now = int(self._writer.clock().timestamp())
        return None if there is None or base_item.expired(there, now) else there

    def _there(self, entity: type[Entity], key: ItemKey) -> Image | None:
        if key in self._given:
            raise Invalid(ONE_WAY)
        if key not in self.images:
            if entity.versioned_:
                found = self._revisions.read(entity, key)
            else:
                found = self._writer.table.get(key, consistent=True)
            self._seen[key] = self.images[key] = found
        return self.images[key]

    def _check_vacant(self, entity: type[Entity], key: ItemKey, now: dt.datetime) -> None:
        """Raise Conflict where an item stands, or an expired one that the archive wants."""
        there = self._there(entity, key)
        if there is None:
            return
        if not base_item.expired(there, int(now.timestamp())) or self._writer.archived(entity):
            raise Conflict(self._writer.why_taken(entity, there, now))

    def _leave(self, entity: type[E], image: Image, now: dt.datetime) -> E:
        self._check_references(entity, image)
        if entity.versioned_:
            image, versions = self._revisions.next(image, now)
            self._beside(versions)
        self.images[key_of(image)] = image
        return mapper.item_of(entity, image)

    def _check_references(self, entity: type[Entity], image: Image) -> None:
        """Let the transaction hold only while what must exist for this item does.

        Raises:
            ReferenceNotFound: names the field that refers to nothing.
        """
        there = self.images.get(key_of(image)) or {}
        for name in (spec.name for spec in entity.fields_.values() if spec.must_exist):
            id, target = attributes.text(image, name), entity.fields_[name].target
            if id is None or there.get(name) == image[name]:
                continue  # it was there when this was first written
            if self.find(One(target, (id,))) is None:
                raise ReferenceNotFound(f"there is no {target.__name__} {id}", field=name)

    def _beside(self, versions: Mapping[ItemKey, Image]) -> None:
        """Write version items too, where none stand."""
        self._seen |= dict.fromkeys(versions)
        self.images |= versions

    def _writes(self) -> Iterator[Write]:
        for key, seen in self._seen.items():
            becomes = self.images[key]
            still = conditions.nowhere() if seen is None else conditions.exactly(seen)
            condition, names, values = still.condition or "", still.names, still.values
            if key in self._given:
                continue  # it is written on the condition that it still is as it was read
            if becomes is seen:
                yield ConditionCheck(key, condition, names, values)
            elif becomes is not None:
                yield Put(self._revisions.base_item(key, becomes), condition, names, values)
            elif seen is not None:
                yield Delete(key, condition, names, values)

    def _check_size(self, writes: Sequence[Write]) -> None:
        if len(writes) > MOST_WRITES:
            record = f", {RECORD} included" if self.record else ""
            raise Invalid(f"this writes {len(writes)} items at once{record}; at most {MOST_WRITES}")
        stood = {key: attributes.size_of(image or {}) for key, image in self._seen.items()}
        # What is replaced and what replaces it: DynamoDB counts the larger.
        size = sum(max(_size_of(each), stood.get(key_of_write(each), 0)) for each in writes)
        if size > MOST_BYTES:
            raise Invalid(f"this writes {size} bytes at once; at most {MOST_BYTES}")


def _check_version(there: Image, if_match: int | None) -> None:
    version = base_item.version_of(there)
    if if_match is not None and version != if_match:
        raise PreconditionFailed(f"the item is of version {version}")


def _size_of(write: Write) -> int:
    match write:
        case Put():
            return attributes.size_of(write.item)
        case Update():
            return attributes.size_of(write.values)
        case _:
            return 0
