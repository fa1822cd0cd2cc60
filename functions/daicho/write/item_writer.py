"""Writes items, each by one conditional request, most of them without a preceding read.

A write that is refused is planned again for the item that was found (`daicho.write.planner`).
While a transaction is open (`daicho.write.transaction`), the writes are parts of it instead. An
item whose versions are kept uses a transaction for each of its writes. So does an item that refers
to another item that must exist, and one with unique values, unless a change keeps all of these.
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
    Invalid,
    PreconditionFailed,
    Raced,
    RefusedError,
    UnreadableError,
)
from daicho.items import mapper
from daicho.layout import reservations
from daicho.layout.base_item import to_seconds
from daicho.query.access import SYSTEM, Access
from daicho.query.key_resolver import KeyResolver, build_not_found
from daicho.query.version_history import VersionHistory
from daicho.runtime.retry import RetryBudget
from daicho.storage import attributes
from daicho.storage.attributes import ItemKey
from daicho.storage.requests import Update, Write
from daicho.storage.table import Table
from daicho.write import conditions
from daicho.write.field_changes import PlannedWrite, build_successor, estimate_removal
from daicho.write.planner import ItemPlanner
from daicho.write.referrers import list_references
from daicho.write.refusals import explain_taken
from daicho.write.sender import Sender
from daicho.write.transaction import Transaction

E = TypeVar("E", bound=Entity)
T = TypeVar("T")
ATTEMPTS = 8
"""How often a PUT is tried, each time based on the item that the last attempt found."""
RACE_RETRY_S = 3.0
"""How long a write is retried while other writers are faster."""


@dataclass
class ItemWriter:
    """Writes a tenant's items.

    ``open_transaction``: the transaction that the writes are parts of.
    """

    key_resolver: KeyResolver
    table: Table
    clock: Callable[[], dt.datetime]
    history: VersionHistory
    access: Access = SYSTEM
    planner: ItemPlanner = field(init=False)
    sender: Sender = field(init=False)
    open_transaction: Transaction | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.planner = ItemPlanner(self.key_resolver, self.access)
        self.sender = Sender(self.table, self.key_resolver.item_cache)

    def commit(self, writes: Sequence[Write]) -> None:
        """Do all of these writes or none; as parts of the open transaction, if there is one.

        The writes are a transaction, even a single write, at two units a KB.

        Raises:
            TransactionFailedError: a condition did not hold; ``refused`` maps the refused
                writes to the items at their keys. Not raised while a transaction is open: then
                the commit of that transaction raises.
            Raced: transactions of others used the items for the whole time.
        """
        if self.open_transaction is not None:
            self.open_transaction.add(writes)
            return
        self.sender.send_all(writes)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A transaction of all writes until its end; joins the transaction that is already open.

        The outermost context commits it at its end.
        """
        if self.open_transaction is not None:
            with self.open_transaction.undo_on_error():
                yield self.open_transaction
            return
        transaction = Transaction(self.planner, self.sender, self.history, self.clock)
        self.open_transaction, self.key_resolver.pending = transaction, transaction.images
        try:
            yield transaction
        finally:
            self.open_transaction, self.key_resolver.pending = None, {}
        transaction.commit()

    def check_sections_unchanged(self, key: ItemKey | None) -> None:
        """See `Transaction.check_sections_unchanged`; without an open transaction, do nothing."""
        if self.open_transaction is not None and key is not None:
            self.open_transaction.check_sections_unchanged(key)

    def create(self, item: E) -> E:
        """See `Book.create`."""
        if self._needs_transaction(type(item), type(item).fields_) or self._reserves(type(item)):
            return self._retry_transaction(lambda transaction: transaction.create(item))
        return self._create(item, Conflict)

    def put(self, item: E, *, if_match: int | str | None, if_none_match: bool) -> E:
        """See `Book.put`."""
        is_joint = self._needs_transaction(type(item), type(item).fields_)
        # The SDK may repeat a write. A repeated transaction is none; another write would find the
        # state that it has just given.
        is_joint = is_joint or bool(type(item).rules_.once_fields)
        if is_joint or self._reserves(type(item)) or isinstance(if_match, str):
            return self._retry_transaction(
                lambda t: t.put(item, if_match=if_match, if_none_match=if_none_match)
            )
        if if_none_match:
            return self._create(item, PreconditionFailed, if_match)
        now = self.clock()
        new = self.planner.plan_candidate(item, now)
        if new.entity.rules_.reads_stored:
            return self._put_after_read(new, now, if_match)
        planned = self._plan_first_put(new, now, if_match)
        for _ in range(ATTEMPTS):
            try:
                return self._update(planned, self.planner.build_put(planned, now, if_match))
            except ConditionFailedError as refused:
                existing = refused.item
            except UnreadableError:  # the stored item kept what cannot be read
                existing = self.table.get(new.key, consistent=True)
            planned = self.planner.plan_put(new, existing, now, if_match=if_match)
            if existing is not None and (planned.is_repair or not planned.predecessor):
                # It cannot be read, or has expired: it is replaced as a whole.
                image = planned.build_successor()
                write = conditions.if_unchanged(existing).to_put(image)
                with suppress(ConditionFailedError):
                    self.sender.send_one(new.key, write)
                    self.sender.derived_units += planned.derived_units
                    return mapper.to_item(planned.entity, image, self.key_resolver.ledger)
        raise Raced

    def change(
        self, ref: ItemRef[E], changes: Mapping[str, Any], *, if_match: int | str | None
    ) -> E:
        """See `Book.change`."""
        if (
            self._needs_transaction(ref.entity, changes)
            or self.planner.get_entity_plan(ref.entity).key.moves in changes
            or isinstance(if_match, str)
            or not ref.entity.rules_.once_fields.isdisjoint(changes)  # as in `put`
        ):
            return self._retry_transaction(lambda t: t.change(ref, changes, if_match=if_match))
        key, now = self.key_resolver.resolve_key(ref), self.clock()
        for _ in RetryBudget.for_seconds(RACE_RETRY_S).count_attempts():
            existing = None if key is None else self.table.get(key, consistent=True)
            planned = self.planner.plan_change(ref, existing, changes, now, if_match=if_match)
            reserves = planned.plan.derived_uniques and not self._keeps_reservations(planned, now)
            if reserves or planned.is_repair:
                return self._retry_transaction(lambda t: t.change(ref, changes, if_match=if_match))
            # Refused if somebody was faster, or if the answer to this very write was lost.
            with suppress(ConditionFailedError):
                return self._update(planned, self.planner.build_change(planned))
        raise Raced

    def delete(self, ref: ItemRef[E], *, if_match: int | str | None) -> None:
        """See `Book.delete`."""
        is_joint = self._needs_transaction(ref.entity) or self._reserves(ref.entity)
        is_guarded = bool(list_references(self.key_resolver.ledger, ref.entity.__name__))
        is_guarded = is_guarded or ref.entity.rules_.guards_deletion
        if is_joint or is_guarded or isinstance(if_match, str):
            self._retry_transaction(lambda t: t.delete(ref, if_match=if_match))
            return
        key, now = self.key_resolver.resolve_key(ref), self.clock()
        if key is None:
            raise build_not_found(ref)
        owner = self.access.find_required_owner(ref.entity)
        removal = conditions.build_removal(key, to_seconds(now), if_match, owner)
        try:
            removed = self.sender.send_one(key, removal)
        except ConditionFailedError as refused:
            self.planner.check_existing(ref, refused.item, now, if_match)
            raise
        if removed is not None:
            plan = self.planner.get_entity_plan(ref.entity)
            self.sender.derived_units += estimate_removal(plan, removed)

    def restore(self, ref: ItemRef[E], *, if_match: int | str | None) -> E:
        """See `Book.restore`."""
        return self._retry_transaction(
            lambda transaction: transaction.restore(ref, if_match=if_match)
        )

    def _needs_transaction(self, entity: type[Entity], names: Iterable[str] = ()) -> bool:
        """Whether an item is written together with other items.

        This is so in an open transaction, for an item with versions, and if one of the fields that
        are set refers to an item that must exist.
        """
        if self.open_transaction is not None or entity.versioned_ is not None:
            return True
        fields = entity.fields_
        return any(fields[name].must_exist for name in names if name in fields)

    def _reserves(self, entity: type[Entity]) -> bool:
        """Whether the values of an entity's items are reserved, so that others cannot have them."""
        return bool(self.planner.get_entity_plan(entity).derived_uniques)

    def _keeps_reservations(self, planned: PlannedWrite[Any], now: dt.datetime) -> bool:
        stored, image = planned.predecessor, planned.build_successor()
        return reservations.is_unchanged(
            self.key_resolver.ledger, stored, image, planned.plan, to_seconds(now)
        )

    def _retry_transaction(self, write: Callable[[Transaction], T]) -> T:
        """Write in the open transaction, or in a new one that is retried if others are faster."""
        if self.open_transaction is not None:
            return write(self.open_transaction)
        for _ in RetryBudget.for_seconds(RACE_RETRY_S).count_attempts():
            with suppress(Raced):
                with self.transaction() as transaction:
                    result = write(transaction)
                return result
        raise Raced

    def _put_after_read(self, new: PlannedWrite[E], now: dt.datetime, if_match: int | None) -> E:
        """Put an item whose rules compare it with the stored one, which is read before."""
        for _ in range(ATTEMPTS):
            existing = self.table.get(new.key, consistent=True)
            planned = self.planner.plan_put(new, existing, now, if_match=if_match)
            image = planned.build_successor()
            is_free = existing is None
            write = conditions.if_absent() if is_free else conditions.if_unchanged(existing or {})
            with suppress(ConditionFailedError):
                self.sender.send_one(new.key, write.to_put(image))
                return mapper.to_item(planned.entity, image, self.key_resolver.ledger)
        raise Raced

    def _plan_first_put(
        self, new: PlannedWrite[E], now: dt.datetime, if_match: int | None
    ) -> PlannedWrite[E]:
        """The first attempt of a PUT. It needs no read, unless a rule refuses the new item.

        The stored item may have other values that are set once, with which the rules hold.
        """
        try:
            return self.planner.plan_replacement(new, now)
        except Invalid:
            if not mapper.list_frozen_fields(new.entity, new.plan):
                raise
        existing = self.table.get(new.key, consistent=True)
        return self.planner.plan_put(new, existing, now, if_match=if_match)

    def _create(
        self,
        item: E,
        error: type[Conflict | PreconditionFailed],
        if_match: int | None = None,
    ) -> E:
        """Put a new item; raise ``error`` if its key is taken.

        The SDK repeats a write whose answer was lost. So a refusal that this write's own first
        success causes is ignored.
        """
        now = self.clock()
        new = self.planner.plan_creation(item, now)
        if if_match is not None:
            raise error("no item is both absent and of a version")
        try:
            self.sender.send_one(new.key, self.planner.build_creation(new, now))
        except ConditionFailedError as refused:
            existing = refused.item
            if existing is None or not attributes.equal_images(existing, new.image):
                if existing is not None and error is PreconditionFailed:
                    self.planner.check_replaceable(new, existing, now)
                raise error(explain_taken(new.entity, existing, now)) from refused
            self.sender.attempted += 1
        self.sender.derived_units += new.derived_units
        return new.to_item(self.key_resolver.ledger)

    def _update(self, planned: PlannedWrite[E], write: Update) -> E:
        try:
            image = self.sender.send_one(planned.key, write)
        except RefusedError:
            existing = self.table.get(planned.key, consistent=True)
            if existing is not None:
                mapper.check_kept(planned.entity, existing, ())
                # Attributes of older code may leave no room.
                build_successor(planned.entity, planned.image, existing)
            raise
        self.sender.derived_units += planned.derived_units
        stored = planned.image if image is None else image
        return mapper.to_item(planned.entity, stored, self.key_resolver.ledger)
