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
from math import ceil
from typing import Any, TypeVar

from daicho.declare.entity import Entity
from daicho.declare.queries import ItemRef, UniqueRef
from daicho.errors import Invalid, Raced, TransactionFailedError
from daicho.items import mapper
from daicho.layout.base_item import to_seconds
from daicho.layout.migrations import read_migrated
from daicho.layout.reservation_writer import ItemChange, ReservationWriter
from daicho.layout.reservations import is_held
from daicho.query.key_resolver import build_not_found
from daicho.query.unique_finder import find_by_value
from daicho.query.version_history import VersionHistory
from daicho.storage import attributes
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.capacity import WRITE_UNIT_BYTES
from daicho.storage.requests import (
    MAX_TRANSACTION_WRITES,
    ConditionCheck,
    Put,
    Update,
    Write,
    get_write_key,
)
from daicho.write import conditions
from daicho.write.field_changes import PlannedWrite, estimate_removal
from daicho.write.planner import ItemPlanner
from daicho.write.referrers import CLOSING_MARK, Referrers, is_closing, list_references
from daicho.write.refusals import CHANGED_MEANWHILE, build_reference_not_found, select_live
from daicho.write.sender import Sender
from daicho.write.version_writer import VersionWriter

E = TypeVar("E", bound=Entity)
MAX_BYTES = 4 * 1024 * 1024
"""The size of all items of a transaction."""
RECORD_NAME = "the record of its Idempotency-Key"
SECTIONS_ALREADY_CHANGED = (
    "in a transaction, or a request under an Idempotency-Key, an item with sections is changed as "
    "a whole, once, or section by section; and after that it is not read as a whole"
)


class Transaction:
    """Collects writes and commits them together: ``with book.transaction() as transaction``.

    It has the methods of the `Book`, and while it is open, the methods of the `Book` use it. They
    return the items as they will be after the commit. A method *stages* a write: it keeps it until
    the commit.
    """

    def __init__(
        self,
        planner: ItemPlanner,
        sender: Sender,
        history: VersionHistory,
        clock: Callable[[], dt.datetime],
    ) -> None:
        self._planner, self._sender, self._history, self._clock = planner, sender, history, clock
        self._key_resolver, self._table = planner.key_resolver, sender.table
        self._originals: dict[ItemKey, Image | None] = {}
        """The item at each key as it was read; the commit fails if it has changed by then."""
        self.images: dict[ItemKey, Image | None] = {}
        """The item at each of the same keys after the commit; None if there is none."""
        self._complete_writes: dict[ItemKey, Write] = {}
        """The writes that came with their own conditions, instead of being made of `images`."""
        self.section_changes: dict[ItemKey, Any] = {}
        """The staged states of items whose sections it changes (`daicho.write.section_writer`)."""
        self._guarded: set[ItemKey] = set()
        """The keys of items that are not deleted while others refer to them."""
        self._vacant_values: dict[ItemKey, ConditionCheck] = {}
        """The checks that no item has the unique values that were looked up in vain."""
        self._versions = VersionWriter(history)
        self.idempotency_record: Sequence[Write] = ()
        """The writes of the stored answer, if the request has an Idempotency-Key."""

    def find(self, ref: ItemRef[E]) -> E | None:
        """One item or None; the commit fails if this has changed by then."""
        if isinstance(ref, UniqueRef):
            return self._find_by_value(ref)
        return self._show(ref.entity, select_live(self._read_item(ref), self._clock()))

    def get(self, ref: ItemRef[E]) -> E:
        """One item; the commit fails if it has changed by then.

        Raises:
            NotFound: there is none, or it has expired.
        """
        item = self.find(ref)
        if item is None:
            raise build_not_found(ref)
        return item

    def find_all(self, refs: Sequence[ItemRef[E]]) -> list[E | None]:
        """Items as in `find`, a hundred per request; items with versions need one request each.

        Raises:
            UnprocessedError: DynamoDB did not process all of them in time.
        """
        keys = [self._key_resolver.resolve_key(ref) for ref in refs if not ref.entity.versioned_]
        unread = [key for key in keys if key is not None and key not in self.images]
        images = self._table.batch_get(unread, consistent=True).require_all()
        for key in unread:
            self._originals[key] = self.images[key] = images.get(key)
        return [self.find(ref) for ref in refs]

    def create(self, item: E) -> E:
        """See `Book.create`."""
        now = self._clock()
        new = self._planner.plan_creation(item, now)
        self._planner.check_vacant(new.entity, self._read_image(new.entity, new.key), now)
        return self._stage(new, now)

    def put(self, item: E, *, if_match: int | str | None = None, if_none_match: bool = False) -> E:
        """See `Book.put`."""
        now = self._clock()
        new = self._planner.plan_candidate(item, now)
        existing = self._read_image(new.entity, new.key)
        planned = self._planner.plan_put(
            new, existing, now, if_match=if_match, if_none_match=if_none_match
        )
        return self._stage(planned, now)

    def change(
        self, ref: ItemRef[E], changes: Mapping[str, Any], *, if_match: int | str | None = None
    ) -> E:
        """See `Book.change`."""
        key, now = self._key_resolver.resolve_key(ref), self._clock()
        existing = None if key is None else self._read_image(ref.entity, key)
        planned = self._planner.plan_change(ref, existing, changes, now, if_match=if_match)
        if key is not None and planned.key != key:  # a key field changes: the item moves
            occupant = self._read_image(ref.entity, planned.key)
            self._planner.check_vacant(ref.entity, occupant, now)
            self.images[key] = None
        return self._stage(planned, now)

    def delete(self, ref: ItemRef[E], *, if_match: int | str | None = None) -> None:
        """See `Book.delete`.

        Raises:
            TypeError: the item has sections or objects, which only `Book.delete` deletes with it.
        """
        name = ref.entity.__name__
        if ref.entity.split_field_ is not None or ref.entity.object_fields_:
            raise TypeError(
                f"{name} has sections or objects: delete it by Book.delete, outside a transaction"
            )
        self.remove(ref, if_match=if_match)

    def remove(self, ref: ItemRef[E], *, if_match: int | str | None) -> None:
        """Delete the base item and mark its versions; the caller deletes sections and objects."""
        key, now = self._key_resolver.resolve_key(ref), self._clock()
        if key is None:
            raise build_not_found(ref)
        existing = self._read_image(ref.entity, key)
        stored = self._planner.check_removal(ref, existing, now, if_match)
        plan = self._planner.get_entity_plan(ref.entity)
        self._sender.derived_units += estimate_removal(plan, stored)
        if list_references(self._planner.ledger, ref.entity.__name__):
            access, staged = self._planner.access, self.images
            guard = Referrers(self._key_resolver, self._sender, access, self._clock, staged)
            self._originals[key] = guard.close(ref.entity, stored)
            self._guarded.add(key)
        self.images[key] = None
        if ref.entity.versioned_:
            self._stage_versions(self._versions.build_removal(key, now))

    def restore(self, ref: ItemRef[E], *, if_match: int | str | None = None) -> E:
        """See `Book.restore`."""
        key, now = self._key_resolver.resolve_key(ref), self._clock()
        old_version = self._history.find_version(ref)
        if key is None or old_version is None:
            raise build_not_found(ref)
        existing = self._read_image(ref.entity, key)
        # Undoing a deletion is no change of state. An older version follows the stored item, or is
        # checked as a new item if there is none.
        is_newest = ref.version == self._versions.existing[key].last - 1
        follows = old_version if existing is None and is_newest else None
        planned = self._planner.plan_restoration(
            ref, old_version, existing, now, if_match=if_match, follows=follows
        )
        return self._stage(planned, now)

    def add(self, writes: Sequence[Write]) -> None:
        """Stage writes that have their own conditions: see `ItemWriter.commit`."""
        for write in writes:
            key = get_write_key(write)
            if key in self._complete_writes or key in self.images:
                raise ValueError(f"{key} is written twice in one transaction")
            self._complete_writes[key] = write

    def stage_sections(self, key: ItemKey, writes: Sequence[Write], new_state: object) -> None:
        """Stage the writes of an item and of its sections.

        They replace earlier writes of the same keys. ``new_state`` is the state of the item after
        them: see `section_changes`.
        """
        self._complete_writes |= {get_write_key(write): write for write in writes}
        self.section_changes[key] = new_state

    def check_sections_unchanged(self, key: ItemKey) -> None:
        """Refuse to read the sections of an item that this transaction changes.

        Raises:
            Invalid: it changes the item, so the sections in the table are not the new ones.
        """
        if key in self._complete_writes or self.images.get(key) is not self._originals.get(key):
            raise Invalid(SECTIONS_ALREADY_CHANGED)

    @contextmanager
    def undo_on_error(self) -> Iterator[None]:
        """Undo what this block has staged if the block fails."""
        mutable_state: tuple[dict[ItemKey, Any], ...] = (
            *(self._originals, self._complete_writes, self.section_changes, self.images),
            *(self._versions.existing, self._versions.plans),
        )
        snapshots = [(mapping, dict(mapping)) for mapping in mutable_state]
        try:
            yield
        except BaseException:
            for mapping, snapshot in snapshots:
                mapping.clear()
                mapping.update(snapshot)
            raise

    def commit(self) -> None:
        """Write everything in one request; nothing if nothing was staged.

        Raises:
            Invalid: the writes exceed the limits of a transaction.
            Raced: a concurrent writer changed one of the items; nothing was written.
            NotUnique: another item has a value that is unique.
        """
        writes: list[Write] = [*self._build_writes(), *self._complete_writes.values()]
        writes += self.idempotency_record
        if all(isinstance(write, ConditionCheck) for write in writes):
            return  # it has only read: no write depends on what was read
        reservations = ReservationWriter.build(
            self._planner.ledger, self._table, self._list_changes(), to_seconds(self._clock())
        )
        written = reservations.list_keys()
        writes += [check for key, check in self._vacant_values.items() if key not in written]
        try:
            reservations.send(writes, self._send)
        except TransactionFailedError as error:
            raise Raced(CHANGED_MEANWHILE) from error

    def _read_item(self, ref: ItemRef[Any]) -> Image | None:
        key = self._key_resolver.resolve_key(ref)
        return None if key is None else self._read_image(ref.entity, key)

    def _find_by_value(self, ref: UniqueRef[E]) -> E | None:
        """The item that has a unique value; the commit fails if another one has it by then."""
        image, check = find_by_value(self._key_resolver, ref)
        if image is not None:  # the commit depends on the item
            image = self._read_image(ref.entity, get_key(image))
            now = to_seconds(self._clock())
            if not is_held(self._planner.ledger, image, check.key, now):
                raise Raced(CHANGED_MEANWHILE)
        elif check.key not in self._vacant_values:
            self._vacant_values[check.key] = check
        return self._show(ref.entity, image)

    def _show(self, entity: type[E], image: Image | None) -> E | None:
        """A live item that was found; None if the caller may not read it."""
        if image is None or not self._planner.access.may_read(entity, image):
            return None
        return mapper.to_item(entity, image, self._planner.ledger)

    def _read_image(self, entity: type[Entity], key: ItemKey) -> Image | None:
        """The item at a key as this transaction leaves it so far; the first time from the table."""
        if key in self._complete_writes:
            raise Invalid(SECTIONS_ALREADY_CHANGED)
        if key not in self.images:
            if entity.versioned_:
                image = self._versions.read(entity, key)
            else:
                image = self._table.get(key, consistent=True)
            self._originals[key] = self.images[key] = image
        return self.images[key]

    def _stage(self, planned: PlannedWrite[E], now: dt.datetime) -> E:
        """Keep a planned write for the commit, and return the item as it will be."""
        image = planned.build_successor()
        self._sender.derived_units += planned.derived_units
        self._check_references(planned.entity, planned.key, image)
        if planned.entity.versioned_:
            image, versions = self._versions.build_next(planned.key, image, now)
            self._stage_versions(versions)
        self.images[planned.key] = image
        if image is planned.image:
            return planned.to_item(self._planner.ledger)
        return mapper.to_item(planned.entity, image, self._planner.ledger)

    def _check_references(self, entity: type[Entity], key: ItemKey, image: Image) -> None:
        """Make the transaction depend on the items that must exist for this item.

        Raises:
            ReferenceNotFound: names the field that refers to nothing.
        """
        existing = self.images.get(key) or {}
        previous = read_migrated(self._planner.ledger, entity.__name__, existing)
        for name in (spec.name for spec in entity.fields_.values() if spec.must_exist):
            id, target = attributes.get_text(image, name), entity.fields_[name].target
            if id is None or previous.get(name) == image[name]:
                continue  # the reference was checked when it was set
            ref, now = ItemRef(target, (id,)), self._clock()
            referred = select_live(self._read_item(ref), now)
            if referred is None:
                raise build_reference_not_found(target, id, name)
            if entity.fields_[name].on_delete:
                if is_closing(referred, now):
                    raise Raced(CHANGED_MEANWHILE)
                self._guarded.add(get_key(referred))

    def _stage_versions(self, versions: Mapping[ItemKey, Image]) -> None:
        """Stage version items; the commit fails if one of their keys has an item."""
        self._originals |= dict.fromkeys(versions)
        self.images |= versions

    def _build_writes(self) -> Iterator[Write]:
        """A write or a check for each item that was read, on condition that it is unchanged."""
        for key, stored in self._originals.items():
            if key in self._complete_writes:
                continue  # that write has its own condition
            image = self.images[key]
            marks = (CLOSING_MARK,) if key in self._guarded else ()
            write = (
                conditions.if_absent()
                if stored is None
                else conditions.if_unchanged(stored, *marks)
            )
            if image is stored:
                yield write.to_check(key)
            elif image is not None:
                yield write.to_put(self._versions.build_base_item(key, image))
            elif stored is not None:
                yield write.to_delete(key)

    def _list_changes(self) -> list[ItemChange]:
        """The items that are changed: as they were read, and as they will be."""
        return [
            (stored, self.images[key])
            for key, stored in self._originals.items()
            if self.images[key] is not stored
        ]

    def _send(self, writes: Sequence[Write]) -> None:
        self._check_size(writes)
        self._sender.send_all(writes)

    def _check_size(self, writes: Sequence[Write]) -> None:
        if len(writes) > MAX_TRANSACTION_WRITES:
            record = f", {RECORD_NAME} included" if self.idempotency_record else ""
            raise Invalid(
                f"this writes {len(writes)} items at once{record}; at most {MAX_TRANSACTION_WRITES}"
            )
        sizes = {
            key: attributes.measure_image(image or {}) for key, image in self._originals.items()
        }
        # DynamoDB counts the larger of the old and the new item.
        taken = [max(_measure_write(write), sizes.get(get_write_key(write), 0)) for write in writes]
        if sum(taken) > MAX_BYTES:
            raise Invalid(f"this writes {sum(taken)} bytes at once; at most {MAX_BYTES}")
        self._table.budget.check_write(sum(2 * ceil(size / WRITE_UNIT_BYTES) for size in taken))


def _measure_write(write: Write) -> int:
    match write:
        case Put():
            return attributes.measure_image(write.item)
        case Update():
            return attributes.measure_image(write.values)
        case _:
            return 0
