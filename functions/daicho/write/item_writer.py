"""Writes items: builds a write, sends it to DynamoDB, and interprets a refusal.

Each of these writes is a separate request, most of them without a preceding read. While a
transaction is open (`daicho.write.transaction`), the writes are parts of it instead. An item whose
versions are kept uses a transaction for each of its writes. So does an item that refers to another
item that must exist.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from daicho.declare.entity import Entity
from daicho.declare.queries import ItemRef
from daicho.errors import (
    ConditionFailedError,
    Conflict,
    NotFound,
    PreconditionFailed,
    Raced,
    RefusedError,
)
from daicho.items import mapper
from daicho.layout import base_item
from daicho.query.key_resolver import display_name
from daicho.query.version_history import VersionHistory
from daicho.runtime.retry import RetryBudget
from daicho.storage import attributes, item_key
from daicho.storage.attributes import AttributeValue, Image
from daicho.storage.item_key import ItemKey
from daicho.storage.requests import Write
from daicho.storage.table import Table
from daicho.write import conditions
from daicho.write.item_builder import ItemBuilder
from daicho.write.sender import Sender
from daicho.write.transaction import Transaction

E = TypeVar("E", bound=Entity)
T = TypeVar("T")
ATTEMPTS = 8
"""How often a PUT is tried, each time based on the item that the last attempt found."""
RACE_RETRY_S = 3.0
"""How long a write is retried while other writers are faster."""

WAITS_FOR_ARCHIVE = "an expired item of this key waits for the archive; try again later"


@dataclass
class ItemWriter(ItemBuilder):
    """Writes a tenant's items. ``open``: the transaction that the writes are parts of."""

    table: Table
    clock: Callable[[], dt.datetime]
    history: VersionHistory
    sender: Sender = field(init=False)
    open: Transaction | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.sender = Sender(self.table, self.places.memory)

    def commit(self, writes: Sequence[Write]) -> None:
        """Do all of these writes or none; as parts of the open transaction, if there is one.

        The writes are a transaction, even a single write, at two units a KB.

        Raises:
            TransactionFailedError: a condition did not hold; ``refused`` maps the refused
                writes to the items at their keys. Not raised while a transaction is open: then
                the commit of that transaction raises.
            Raced: transactions of others used the items for the whole time.
        """
        if self.open is not None:
            self.open.add(writes)
            return
        self.sender.send(writes)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A transaction of all writes until its end; joins the transaction that is already open.

        The outermost context commits it at its end.
        """
        if self.open is not None:
            with self.open.joined():
                yield self.open
            return
        self.open = transaction = Transaction(self)
        self.places.pending = transaction.images
        try:
            yield transaction
        finally:
            self.open, self.places.pending = None, {}
        transaction.commit()

    def check_sections_unchanged(self, key: ItemKey | None) -> None:
        """See `Transaction.check_sections_unchanged`; without an open transaction, do nothing."""
        if self.open is not None and key is not None:
            self.open.check_sections_unchanged(key)

    def create(self, item: E) -> E:
        """See `Book.create`."""
        if self._needs_transaction(type(item), type(item).fields_):
            return self._retry_transaction(lambda transaction: transaction.create(item))
        entity, now = type(item), self.clock()
        image = self.build_image(entity, self.build_fields(item), now)
        try:
            self._put_new(entity, image, now)
        except ConditionFailedError as refused:
            raise Conflict(self.explain_taken(entity, refused.item, now)) from refused
        return mapper.to_item(entity, image)

    def put(self, item: E, *, if_match: int | None, if_none_match: bool) -> E:
        """See `Book.put`."""
        if self._needs_transaction(type(item), type(item).fields_):
            return self._retry_transaction(
                lambda t: t.put(item, if_match=if_match, if_none_match=if_none_match)
            )
        entity, now = type(item), self.clock()
        image = self.build_image(entity, self.build_fields(item), now)
        if if_none_match:
            if if_match is not None:
                raise PreconditionFailed("no item is both absent and of a version")
            try:
                self._put_new(entity, image, now)
            except ConditionFailedError as refused:
                raise PreconditionFailed(self.explain_taken(entity, refused.item, now)) from refused
            return mapper.to_item(entity, image)
        fresh, existing = image, None
        for _ in range(ATTEMPTS):
            try:
                return self._replace(entity, image, existing, now, if_match)
            except ConditionFailedError as refused:
                existing = refused.item
            if existing is None or base_item.is_expired(existing, _to_seconds(now)):
                self._check_vacant(entity, existing, if_match)
                image = fresh
                if existing is not None and self._put_over(image, existing):
                    return mapper.to_item(entity, image)
                existing = None
                continue
            if if_match is not None and base_item.get_version(existing) != if_match:
                raise PreconditionFailed(
                    f"the item is of version {base_item.get_version(existing)}"
                )
            # The stored frozen fields differ from the checked ones: the result has the stored ones.
            image = self.build_image(
                entity, self.merge_immutable_fields(entity, image, existing), now
            )
        raise Raced("others were faster, again and again; try again")

    def change(self, one: ItemRef[E], changes: Mapping[str, Any], *, if_match: int | None) -> E:
        """See `Book.change`."""
        if (
            self._needs_transaction(one.entity, changes)
            or self.current_generation(one.entity).plan.key.moves in changes
        ):
            return self._retry_transaction(lambda t: t.change(one, changes, if_match=if_match))
        entity, now = one.entity, self.clock()
        key = self.places.resolve_key(one)
        for _ in RetryBudget.for_seconds(RACE_RETRY_S).count_attempts():
            existing = None if key is None else self.table.get(key, consistent=True)
            if existing is None or base_item.is_expired(existing, _to_seconds(now)):
                raise NotFound(f"no {display_name(one)}")
            version = base_item.get_version(existing)
            if if_match is not None and version != if_match:
                raise PreconditionFailed(f"the item is of version {version}")
            fields = self.apply_changes(entity, existing, changes)
            created = dt.datetime.fromisoformat(attributes.get_text(existing, "created_at") or "")
            image = self.build_image(entity, fields, created)
            kept: dict[str, AttributeValue | None] = {"created_at": existing["created_at"]}
            write = self._build_replacement(entity, image, kept, None, version)
            try:
                return mapper.to_item(entity, self._update(entity, image, write))
            except ConditionFailedError:
                continue  # somebody was faster, or this very write's answer was lost
        raise Raced("others were faster, again and again; try again")

    def delete(self, one: ItemRef[E], *, if_match: int | None) -> None:
        """See `Book.delete`."""
        if self._needs_transaction(one.entity):
            self._retry_transaction(lambda t: t.delete(one, if_match=if_match))
            return
        key, now = self.places.resolve_key(one), _to_seconds(self.clock())
        if key is None:
            raise NotFound(f"no {display_name(one)}")
        try:
            write = conditions.build_removal(now, if_match)
            self.sender.execute(key, request=lambda: self.table.delete(key, **write.arguments))
        except ConditionFailedError as refused:
            if refused.item is None or base_item.is_expired(refused.item, now):
                raise NotFound(f"no {display_name(one)}") from refused
            version = base_item.get_version(refused.item)
            raise PreconditionFailed(f"the item is of version {version}") from refused

    def restore(self, one: ItemRef[E], *, if_match: int | None) -> E:
        """See `Book.restore`."""
        return self._retry_transaction(
            lambda transaction: transaction.restore(one, if_match=if_match)
        )

    def _needs_transaction(self, entity: type[Entity], setting: Iterable[str] = ()) -> bool:
        """Whether an item is written together with other items.

        This is so in an open transaction, for an item with versions, and if one of the fields that
        are set refers to an item that must exist.
        """
        set_here = (entity.fields_[name] for name in setting if name in entity.fields_)
        referring = any(spec.must_exist for spec in set_here)
        return self.open is not None or entity.versioned_ is not None or referring

    def _retry_transaction(self, write: Callable[[Transaction], T]) -> T:
        """Write in the open transaction, or in a new one that is retried if others are faster."""
        if self.open is not None:
            return write(self.open)
        for _ in RetryBudget.for_seconds(RACE_RETRY_S).count_attempts():
            with suppress(Raced):
                with self.transaction() as transaction:
                    done = write(transaction)
                return done
        raise Raced("others were faster, again and again; try again")

    def _put_new(self, entity: type[Entity], image: Image, now: dt.datetime) -> None:
        """Put a new item; ignore a refusal that this write's own first success causes.

        The SDK repeats a write whose answer was lost.
        """
        over = self._may_expire(entity) and not self.is_archived(entity)
        write = conditions.build_creation(image, _to_seconds(now), replaces_expired=over)
        try:
            key = item_key.get_key(image)
            self.sender.execute(key, request=lambda: self.table.put(image, **write.arguments))
        except ConditionFailedError as refused:
            if refused.item is None or not attributes.equal_images(refused.item, image):
                raise
            self.sender.attempted += 1

    def _replace(
        self,
        entity: type[E],
        image: Image,
        onto: Image | None,
        now: dt.datetime,
        if_match: int | None,
    ) -> E:
        """Write ``image`` over the existing item; without ``onto``, the item may be absent."""
        frozen, seen = self.list_frozen_fields(entity), image if onto is None else onto
        kept = {name: seen.get(name) for name in frozen}
        if onto is not None:
            kept["created_at"] = onto["created_at"]
        until = _to_seconds(now) if self._may_expire(entity) else None
        write = self._build_replacement(entity, image, kept, until, if_match)
        if onto is not None and if_match is None:
            write.condition = f"attribute_exists({write.add_name('PK')}) AND ({write.condition})"
        return mapper.to_item(entity, self._update(entity, image, write))

    def _build_replacement(
        self,
        entity: type[Entity],
        image: Image,
        kept: Mapping[str, AttributeValue | None],
        now: int | None,
        if_match: int | None,
    ) -> conditions.ConditionalWrite:
        absent = [name for name in entity.fields_ if name not in image]
        plan = self.current_generation(entity).plan
        return conditions.build_replacement(
            image, plan, absent=absent, kept=kept, now=now, if_match=if_match
        )

    def _update(
        self, entity: type[Entity], image: Image, write: conditions.ConditionalWrite
    ) -> Image:
        key = item_key.get_key(image)
        try:
            new = self.sender.execute(
                key,
                request=lambda: self.table.update(
                    key, write.update, **write.arguments, returns="ALL_NEW"
                ),
            )
        except RefusedError:
            existing = self.table.get(key, consistent=True)
            if existing is not None:  # attributes of older code may leave no room
                conditions.build_successor(entity, image, existing)
            raise
        return image if new is None else new

    def _put_over(self, image: Image, existing: Image) -> bool:
        """Put a new item over the expired one that was read; False if that is gone or changed."""
        try:
            key, write = item_key.get_key(image), conditions.if_unchanged(existing)
            self.sender.execute(key, request=lambda: self.table.put(image, **write.arguments))
        except ConditionFailedError:
            return False
        return True

    def _check_vacant(
        self, entity: type[Entity], existing: Image | None, if_match: int | None
    ) -> None:
        if if_match is not None:
            raise PreconditionFailed("there is no such item")
        if existing is not None and self.is_archived(entity):
            raise Conflict(WAITS_FOR_ARCHIVE)

    def explain_taken(self, entity: type[Entity], existing: Image | None, now: dt.datetime) -> str:
        """The reason why no item can be created, as text."""
        if existing is not None and base_item.is_expired(existing, _to_seconds(now)):
            return WAITS_FOR_ARCHIVE
        return f"there is such an item of {entity.__name__} already"

    def _may_expire(self, entity: type[Entity]) -> bool:
        generations = self.ledger.entities[entity.__name__]
        return any(generation.plan.expires is not None for generation in generations)

    def is_archived(self, entity: type[Entity]) -> bool:
        """Whether an entity's expired items wait for the archive."""
        return entity.__name__ in self.ledger.archived_types


def _to_seconds(now: dt.datetime) -> int:
    return int(now.timestamp())
