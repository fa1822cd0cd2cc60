"""Writes the changes of a restore: each an ordinary write on condition that the item is as read.

What belongs to an item goes along in one transaction: its next version, its sections under a new
epoch, and its unique values. Values may have been swapped between items since. So the item that has
a value is moved back in the same transaction, and so on, until the values fit (ADR 0183).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace

from daicho.derive.events import mark_quiet
from daicho.errors import ConditionFailedError, NotUnique, Raced, TransactionFailedError
from daicho.layout import cleanup_marks, reservations, sections, versions
from daicho.layout.base_item import to_seconds
from daicho.layout.object_names import render_object_name
from daicho.layout.reservation_writer import ReservationWriter
from daicho.layout.sections import MANIFEST, Section
from daicho.rebuild.touches import estimate_units
from daicho.restore.changes import ChangePlanner, ItemChange
from daicho.restore.item_states import SkippedError, read_number
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.rate_limit import RateLimiter
from daicho.storage.attributes import Image, ItemKey, measure_image
from daicho.storage.requests import (
    MAX_TRANSACTION_WRITES,
    Delete,
    Put,
    Query,
    Write,
)

ATTEMPTS = 8
"""How often an item is read again that others change meanwhile."""
MAX_GROUP = 16
"""Items of one transaction, whose unique values depend on each other: it has at most 100 writes."""
READ = ("version", "gen", "created_at", "ttl")
"""The attributes of an item that identify the image that was read."""
MAX_TRANSACTION_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class RestoredItemWriter:
    """Moves items back. Threads may share it.

    ``objects``: the fields of each entity whose objects in S3 are removed with an item. ``pace``
    bounds write units a second.
    """

    planner: ChangePlanner
    pace: RateLimiter
    objects: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def move_back(
        self, key: ItemKey, may_return: Callable[[ItemChange], bool]
    ) -> list[ItemChange] | None:
        """Move one item back, with those whose unique values depend on it.

        ``may_return``: whether a life may begin again that no archived row was looked up for.
        Returns the changes that were written; None if one of them has to wait for such a look.

        Raises:
            SkippedError: it is not restored.
            UnavailableError: it is not known to be done.
        """
        group = [key]
        for _ in range(ATTEMPTS * MAX_GROUP):
            first = self.planner.plan_from_tables(key)
            if first is None:
                return []
            changes = [first, *self._plan_holders(group[1:])]
            if any(change.returns and not may_return(change) for change in changes):
                return None
            try:
                self._send(changes)
            except NotUnique:
                group.append(self._find_holder(changes, group))
            except ConditionFailedError:
                continue  # an item is not as it was read
            else:
                return changes
        raise SkippedError("other writers change it again and again")

    def _plan_holders(self, holders: Sequence[ItemKey]) -> Iterator[ItemChange]:
        """The changes of items whose unique values are needed. One that is skipped keeps its."""
        for holder in holders:
            with suppress(SkippedError):
                if (change := self.planner.plan_from_tables(holder)) is not None:
                    yield change

    def _find_holder(self, changes: Sequence[ItemChange], group: Sequence[ItemKey]) -> ItemKey:
        """The item that has a unique value which one of these changes needs.

        Raises:
            SkippedError: that item keeps the value, or too many items depend on each other.
        """
        targets = [(c.plan, c.target) for c in changes if c.target is not None]
        for plan, target in targets:
            for key, wanted in reservations.build_reservations(plan, target).items():
                stored = self.planner.store.get(key, consistent=True)
                if stored is None or stored.get(reservations.OWNER) == wanted[reservations.OWNER]:
                    continue
                owner = reservations.get_owner(stored)
                if owner is None or owner in group:
                    continue
                if len(group) == MAX_GROUP:
                    raise SkippedError(f"its unique value goes round more than {MAX_GROUP} items")
                return owner
        raise SkippedError("another item keeps its unique value")

    def _send(self, changes: Sequence[ItemChange]) -> None:
        """Write changes, all or none.

        Raises:
            NotUnique: an item that is not changed has a unique value.
            ConditionFailedError: an item is not as it was read.
        """
        planner, writes, pairs = self.planner, list[Write](), []
        for change in changes:
            item_writes, new_whole = self._build_writes(change)
            writes += item_writes
            pairs.append((change.live_whole, new_whole))
        now = to_seconds(planner.now())
        reserving = ReservationWriter.build(planner.ledger, planner.store, pairs, now)
        reserved = reserving.list_keys()
        size = sum(measure_image(write.item) for write in writes if isinstance(write, Put))
        is_large = size > MAX_TRANSACTION_BYTES and len(writes) > 1
        if is_large or len(writes) + len(reserved) > MAX_TRANSACTION_WRITES:
            raise SkippedError("it and the items of its unique values do not fit one transaction")
        units = sum(estimate_units(write.item) for write in writes if isinstance(write, Put))
        self.pace.wait(max(1.0, units) if len(writes) == 1 and not reserved else 2 * units + 2)
        if len(writes) > 1 or reserved:
            try:
                reserving.send(writes, planner.store.transact)
            except Raced as error:
                raise TransactionFailedError(str(error), {}) from error
        elif isinstance(write := writes[0], Put):
            condition, names, values = write.condition, write.names, write.values
            planner.store.put(write.item, condition=condition, names=names, values=values)
        elif isinstance(write, Delete):
            condition, names, values = write.condition, write.names, write.values
            planner.store.delete(write.key, condition=condition, names=names, values=values)

    def _build_writes(self, change: ItemChange) -> tuple[list[Write], Image | None]:
        """The writes of an item and of what belongs to it, and its whole image after them."""
        writes: list[Write] = []
        number, unkept = change.highest + 1, None
        if change.plan.versions is not None:
            state = self._read_versions(change)
            number = max(state.last or change.highest, read_number(change.live)) + 1
            unkept = versions.build_backfill_version_item(state, change.key, change.plan.name)
            if change.target is None and state.item is not None:
                marker = versions.build_deletion_marker(
                    change.plan, change.key, state, self.planner.now()
                )
                writes.append(Put(marker, "attribute_not_exists(PK)"))
        if unkept is not None:
            writes.append(Put(unkept, "attribute_not_exists(PK)"))
        writes += self._list_marks(change)
        if change.target is None:
            return [_build_removal(change), *writes], None
        events = self.planner.ledger.events.get(change.plan.name, ())
        whole = {**mark_quiet({**change.target, "version": {"N": str(number)}}, events)}
        if change.sections is not None:
            staged = self._stage_sections(change.key, change.plan.name, change.sections, number)
            whole[sections.MANIFEST], mark = staged
            writes.append(mark)
        image: Image = whole
        if change.plan.versions is not None:
            whole = versions.split_versioned_image(whole, number, self.planner.now())
            version = versions.build_version_item(whole, change.plan.name)
            writes.append(Put(version, "attribute_not_exists(PK)"))
            image = versions.restore_base_item(change.plan, whole)
        return [Put(image, *_require_as_read(change.live)), *writes], whole

    def _read_versions(self, change: ItemChange) -> versions.VersionState:
        partition = versions.render_history_partition(change.key, change.plan.name)
        query = Query(partition, forward=False, limit=1, consistent=True)
        newest = next(iter(self.planner.store.query(query).items), None)
        if change.live is not None and not read_number(change.live):  # damaged: kept as it is
            last = 0 if newest is None else versions.get_number(newest)
            return versions.VersionState(change.live, last)
        is_pointer = change.plan.versions == "pointer"
        return versions.read_state(change.live, newest, by_pointer=is_pointer)

    def _list_marks(self, change: ItemChange) -> Iterator[Write]:
        """Marks that let the sweep remove what an item leaves behind: sections, and objects."""
        live, entity, now = change.live, change.plan.name, self.planner.now()
        partition = cleanup_marks.render_owner_partition(change.key, entity)
        has_sections = live is not None and MANIFEST in live
        if has_sections and change.sections is None:
            yield Put(cleanup_marks.build_mark(partition, uuid.uuid4().hex, now))
        if change.target is None:
            for name in self.objects.get(entity, ()):
                text = render_object_name(change.key, entity, name)
                yield Put(cleanup_marks.build_mark(partition, name, now, object=text))

    def _stage_sections(
        self, key: ItemKey, entity: str, stored: Sequence[Section], version: int
    ) -> tuple[Image, Write]:
        """Write sections under a new epoch: its manifest, and the write after which it is swept."""
        store, epoch = self.planner.store, uuid.uuid4().hex
        partition = sections.render_sections_partition(key, entity)
        due = self.planner.now() + cleanup_marks.IN_FLIGHT_GRACE
        plain = [replace(each, changed=version) for each in stored]
        store.put(cleanup_marks.build_mark(partition, epoch, due))
        for section in plain:
            pieces = sections.build_piece_items(partition, epoch, section, uuid.uuid4().hex)
            self.pace.wait(sum(map(estimate_units, pieces)))
            store.batch_write(pieces)
        manifest = sections.start_manifest(epoch, version, plain).to_value()
        return manifest, Put(cleanup_marks.build_mark(partition, epoch, self.planner.now()))


def _build_removal(change: ItemChange) -> Write:
    condition, names, values = _require_as_read(change.live)
    return Delete(change.key, condition, names, values)


def _require_as_read(live: Image | None) -> tuple[str, Mapping[str, str], Image]:
    """The condition that no item exists, or the one that was read."""
    if live is None:
        return "attribute_not_exists(PK)", {}, {}
    names = READ if read_number(live) else sorted({*READ, *live} - {"PK", "SK"})
    placeholders = {f"#n{place}": name for place, name in enumerate(names)}
    terms = [
        f"{place} = {place.replace('#', ':')}" if name in live else f"attribute_not_exists({place})"
        for place, name in placeholders.items()
    ]
    values = {p.replace("#", ":"): live[name] for p, name in placeholders.items() if name in live}
    condition = " AND ".join(terms)
    return f"attribute_exists(PK) AND {condition}", placeholders, values
