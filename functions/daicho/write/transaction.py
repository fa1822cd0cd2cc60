"""Transactions: several items written at once, all of them or none.

Every item is read before it is written, and written only if it is unchanged since it was read. So
the items may depend on each other. Of two writers at the same time, one is refused (`Raced`) and
may retry. An item that is changed twice is written once, in its final state.

Source: "Amazon DynamoDB Transactions: How it works", AWS documentation: at most 100 writes, each of
another item, and 4 MB.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from daicho.declare.entity import Entity
from daicho.declare.queries import ItemRef
from daicho.declare.stored_objects import list_object_fields
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
from daicho.query.key_resolver import KeyResolver, display_name
from daicho.query.version_history import VersionHistory
from daicho.storage import attributes
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey, get_key
from daicho.storage.requests import (
    MAX_TRANSACTION_WRITES,
    ConditionCheck,
    Delete,
    Put,
    Update,
    Write,
    get_write_key,
)
from daicho.storage.table import Table
from daicho.write import conditions
from daicho.write.item_builder import Fields
from daicho.write.version_writer import VersionWriter, read_fields

E = TypeVar("E", bound=Entity)
MAX_BYTES = 4 * 1024 * 1024
"""The size of all items of a transaction."""
RECORD_NAME = "the record of its Idempotency-Key"
ONE_WAY = (
    "in a transaction, or a request under an Idempotency-Key, an item with sections is changed as "
    "a whole, once, or section by section; and after that it is not read as a whole"
)


class TransactionWriter(Protocol):
    """What a transaction needs of the writer that opens it."""

    table: Table
    places: KeyResolver
    history: VersionHistory

    @property
    def clock(self) -> Callable[[], dt.datetime]:
        """The clock."""

    def build_fields(self, item: Entity) -> Fields:
        """The attribute values of a new item."""

    def build_image(self, entity: type[Entity], fields: Fields, created: dt.datetime) -> Fields:
        """The whole image of an item of version 1, checked."""

    def merge_immutable_fields(self, entity: type[Entity], image: Image, existing: Image) -> Fields:
        """The fields of an image as they replace an existing item."""

    def apply_changes(
        self, entity: type[Any], existing: Image, changes: Mapping[str, Any]
    ) -> Fields:
        """The fields of an item with some of them changed."""

    def explain_taken(self, entity: type[Entity], existing: Image | None, now: dt.datetime) -> str:
        """The reason why no item can be created, as text."""

    def is_archived(self, entity: type[Entity]) -> bool:
        """Whether an entity's expired items wait for the archive."""

    def commit(self, writes: Sequence[Write]) -> None:
        """Do all of these writes or none."""


class Transaction:
    """The writes of a domain in one piece: ``with book.transaction() as t``.

    It has the methods of the `Book`, which joins the transaction while it is open. They return the
    items as they will be after the commit.
    """

    def __init__(self, writer: TransactionWriter) -> None:
        self._writer = writer
        self._seen: dict[ItemKey, Image | None] = {}
        self._given: dict[ItemKey, Write] = {}
        self.section_changes: dict[ItemKey, Any] = {}
        """The new states of items whose sections it changes (`daicho.write.section_writer`)."""
        self.images: dict[ItemKey, Image | None] = {}
        """The item at each key that was read, as the transaction would leave it."""
        self._revisions = VersionWriter(writer.history)
        self.record: Put | None = None
        """The record of the request, if it is to be executed once (`daicho.write.idempotency`)."""

    def find(self, one: ItemRef[E]) -> E | None:
        """One item or None; the commit fails if this has changed by then."""
        image = self._live_image(one.entity, self._writer.places.resolve_key(one))
        return None if image is None else mapper.to_item(one.entity, image)

    def get(self, one: ItemRef[E]) -> E:
        """One item; the commit fails if it has changed by then.

        Raises:
            NotFound: there is none, or it has expired.
        """
        item = self.find(one)
        if item is None:
            raise NotFound(f"no {display_name(one)}")
        return item

    def find_all(self, ones: Sequence[ItemRef[E]]) -> list[E | None]:
        """Items as in `find`, a hundred per request; items with versions need one request each.

        Raises:
            UnprocessedError: DynamoDB did not process all of them in time.
        """
        keys = [self._writer.places.resolve_key(ref) for ref in ones if not ref.entity.versioned_]
        unread = [key for key in keys if key is not None and key not in self.images]
        images = self._writer.table.batch_get(unread, consistent=True).require_all()
        for key in unread:
            self._seen[key] = self.images[key] = images.get(key)
        return [self.find(ref) for ref in ones]

    def create(self, item: E) -> E:
        """See `Book.create`."""
        entity, now = type(item), self._writer.clock()
        image = self._writer.build_image(entity, self._writer.build_fields(item), now)
        self._check_vacant(entity, get_key(image), now)
        return self._stage(entity, image, now)

    def put(self, item: E, *, if_match: int | None = None, if_none_match: bool = False) -> E:
        """See `Book.put`."""
        writer, entity, now = self._writer, type(item), self._writer.clock()
        image = writer.build_image(entity, writer.build_fields(item), now)
        existing = self._live_image(entity, get_key(image))
        if existing is None:
            if if_match is not None:
                raise PreconditionFailed("there is no such item")
            try:
                self._check_vacant(entity, get_key(image), now)
            except Conflict as taken:
                raise (PreconditionFailed(taken.detail) if if_none_match else taken) from None
            return self._stage(entity, image, now)
        if if_none_match:
            raise PreconditionFailed(writer.explain_taken(entity, existing, now))
        _check_version(existing, if_match)
        fresh = writer.build_image(
            entity, writer.merge_immutable_fields(entity, image, existing), now
        )
        return self._stage(entity, conditions.build_successor(entity, fresh, existing), now)

    def change(
        self, one: ItemRef[E], changes: Mapping[str, Any], *, if_match: int | None = None
    ) -> E:
        """See `Book.change`."""
        writer, entity, now = self._writer, one.entity, self._writer.clock()
        key = writer.places.resolve_key(one)
        existing = self._live_image(one.entity, key)
        if key is None or existing is None:
            raise NotFound(f"no {display_name(one)}")
        _check_version(existing, if_match)
        created = dt.datetime.fromisoformat(attributes.get_text(existing, "created_at") or "")
        fresh = writer.build_image(entity, writer.apply_changes(entity, existing, changes), created)
        if get_key(fresh) != key:  # it moves
            self._check_vacant(entity, get_key(fresh), now)
            self.images[key] = None
        return self._stage(entity, conditions.build_successor(entity, fresh, existing), now)

    def delete(self, one: ItemRef[E], *, if_match: int | None = None) -> None:
        """See `Book.delete`.

        Raises:
            TypeError: a transaction does not see all parts of the item: the `Book` deletes it.
        """
        name = one.entity.__name__
        if one.entity.split_field_ is not None or list_object_fields(one.entity):
            raise TypeError(f"{name} has more than an item: it is deleted by the Book, on its own")
        self.remove(one, if_match=if_match)

    def remove(self, one: ItemRef[E], *, if_match: int | None) -> None:
        """Delete an item; of the items beside it, only its versions are affected."""
        key = self._writer.places.resolve_key(one)
        existing = self._live_image(one.entity, key)
        if key is None or existing is None:
            raise NotFound(f"no {display_name(one)}")
        _check_version(existing, if_match)
        self.images[key] = None
        if one.entity.versioned_:
            self._stage_versions(self._revisions.build_removal(key, self._writer.clock()))

    def restore(self, one: ItemRef[E], *, if_match: int | None = None) -> E:
        """See `Book.restore`."""
        writer, entity = self._writer, one.entity
        key = writer.places.resolve_key(one)
        old = writer.history.find_version(one)
        if key is None or old is None:
            raise NotFound(f"no {display_name(one)}")
        existing = self._live_image(entity, key)
        if existing is not None:
            _check_version(existing, if_match)
        elif if_match is not None:
            raise PreconditionFailed("there is no such item")
        fields = read_fields(entity, old)
        if existing is not None:
            fields = writer.merge_immutable_fields(entity, fields, existing)
        created = dt.datetime.fromisoformat(
            attributes.get_text(existing or old, "created_at") or ""
        )
        return self._stage(entity, writer.build_image(entity, fields, created), writer.clock())

    def add(self, writes: Sequence[Write]) -> None:
        """Add writes with their own conditions to it: see `ItemWriter.commit`."""
        for write in writes:
            key = get_write_key(write)
            if key in self._given or key in self.images:
                raise ValueError(f"{key} is written twice in one transaction")
            self._given[key] = write

    def stage_sections(self, key: ItemKey, writes: Sequence[Write], after: object) -> None:
        """Add writes of an item, and of the pieces beside it, to the transaction.

        They replace earlier writes of the same keys. ``after`` is the state of the item after
        them: see `section_changes`.
        """
        self._given |= {get_write_key(write): write for write in writes}
        self.section_changes[key] = after

    def check_sections_unchanged(self, key: ItemKey) -> None:
        """Refuse to read the pieces beside an item that this transaction changes.

        Raises:
            Invalid: it changes the item, so the table does not show the new pieces.
        """
        if key in self._given or self.images.get(key) is not self._seen.get(key):
            raise Invalid(ONE_WAY)

    @contextmanager
    def joined(self) -> Iterator[None]:
        """Undo all additions of this block if the block fails."""
        all_of_it: tuple[dict[ItemKey, Any], ...] = (
            *(self._seen, self._given, self.section_changes, self.images),
            *(self._revisions.existing, self._revisions.plans),
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
            Invalid: the writes exceed the limits of a transaction.
            Raced: others changed one of the items; nothing was done.
        """
        record = [] if self.record is None else [self.record]
        writes: list[Write] = [*self._build_writes(), *self._given.values(), *record]
        if all(isinstance(write, ConditionCheck) for write in writes):
            return
        self._check_size(writes)
        try:
            self._writer.commit(writes)
        except Failed as refused:
            raise Raced("others changed the same at this moment; try again") from refused

    def _live_image(self, entity: type[Entity], key: ItemKey | None) -> Image | None:
        """The item at a key, unless it has expired."""
        if key is None:
            return None
        image = self._read_image(entity, key)
        now = int(self._writer.clock().timestamp())
        return None if image is None or base_item.is_expired(image, now) else image

    def _read_image(self, entity: type[Entity], key: ItemKey) -> Image | None:
        if key in self._given:
            raise Invalid(ONE_WAY)
        if key not in self.images:
            if entity.versioned_:
                image = self._revisions.read(entity, key)
            else:
                image = self._writer.table.get(key, consistent=True)
            self._seen[key] = self.images[key] = image
        return self.images[key]

    def _check_vacant(self, entity: type[Entity], key: ItemKey, now: dt.datetime) -> None:
        """Raise Conflict if an item exists, or an expired one that waits for the archive."""
        existing = self._read_image(entity, key)
        if existing is None:
            return
        if not base_item.is_expired(existing, int(now.timestamp())) or self._writer.is_archived(
            entity
        ):
            raise Conflict(self._writer.explain_taken(entity, existing, now))

    def _stage(self, entity: type[E], image: Image, now: dt.datetime) -> E:
        self._check_references(entity, image)
        if entity.versioned_:
            image, versions = self._revisions.next(image, now)
            self._stage_versions(versions)
        self.images[get_key(image)] = image
        return mapper.to_item(entity, image)

    def _check_references(self, entity: type[Entity], image: Image) -> None:
        """Make the transaction depend on the items that must exist for this item.

        Raises:
            ReferenceNotFound: names the field that refers to nothing.
        """
        existing = self.images.get(get_key(image)) or {}
        for name in (spec.name for spec in entity.fields_.values() if spec.must_exist):
            id, target = attributes.get_text(image, name), entity.fields_[name].target
            if id is None or existing.get(name) == image[name]:
                continue  # it existed when this item was first written
            if self.find(ItemRef(target, (id,))) is None:
                raise ReferenceNotFound(f"there is no {target.__name__} {id}", field=name)

    def _stage_versions(self, versions: Mapping[ItemKey, Image]) -> None:
        """Also write version items, at keys where none exist."""
        self._seen |= dict.fromkeys(versions)
        self.images |= versions

    def _build_writes(self) -> Iterator[Write]:
        for key, seen in self._seen.items():
            becomes = self.images[key]
            still = conditions.if_absent() if seen is None else conditions.if_unchanged(seen)
            condition, names, values = still.condition or "", still.names, still.values
            if key in self._given:
                continue  # it is written on the condition that it still is as it was read
            if becomes is seen:
                yield ConditionCheck(key, condition, names, values)
            elif becomes is not None:
                yield Put(self._revisions.build_base_item(key, becomes), condition, names, values)
            elif seen is not None:
                yield Delete(key, condition, names, values)

    def _check_size(self, writes: Sequence[Write]) -> None:
        if len(writes) > MAX_TRANSACTION_WRITES:
            record = f", {RECORD_NAME} included" if self.record else ""
            raise Invalid(
                f"this writes {len(writes)} items at once{record}; at most {MAX_TRANSACTION_WRITES}"
            )
        sizes = {key: attributes.measure_image(image or {}) for key, image in self._seen.items()}
        # DynamoDB counts the larger of the old and the new item.
        size = sum(
            max(_measure_write(write), sizes.get(get_write_key(write), 0)) for write in writes
        )
        if size > MAX_BYTES:
            raise Invalid(f"this writes {size} bytes at once; at most {MAX_BYTES}")


def _check_version(existing: Image, if_match: int | None) -> None:
    version = base_item.get_version(existing)
    if if_match is not None and version != if_match:
        raise PreconditionFailed(f"the item is of version {version}")


def _measure_write(write: Write) -> int:
    match write:
        case Put():
            return attributes.measure_image(write.item)
        case Update():
            return attributes.measure_image(write.values)
        case _:
            return 0
