"""Completes kept parts from the archive, each archived row once (EXACTNESS rule 33).

It works after the proving pass, so no item of an older generation expires any more, and after the
archiver has passed a heartbeat, so what expired before is in the archive. Each object of the
archive is read. What its rows add to the tallies of an instance is written by transactions of up
to 99 slots, in the order of their tallies. Each transaction also moves the *marker* of the object
and the instance, on condition that nobody has moved it::

    PK #kept#<entity>#<instance>   SK <object>
    behind   the last tally to which the object's rows were added

So a job that is killed at any write, or runs twice, adds each row once. A marker is kept as long
as its instance: after code was rolled back and forward, another rebuild adds only what expired
meanwhile. The amounts go to kept slots of their own (`slots.build_archived_key`). A rollup adds
them to the total, and later folds them into the base, like any other.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from itertools import islice

from daicho.archive.object_format import CorruptObjectError
from daicho.archive.reader import ArchiveReader, Selection
from daicho.archive.row_format import ArchivedRow
from daicho.archive.shard_progress import build_progress_key
from daicho.derive.contributions import Amount, split_parts
from daicho.errors import StoreError, TransactionFailedError
from daicho.layout.backfill_state import BackfillState, render_instance
from daicho.layout.restorations import build_restoration_key
from daicho.layout.tenant_items import CLOSED_CACHE_S, build_closed_mark_key
from daicho.plan import Ledger
from daicho.rebuild.kept_amounts import (
    Instance,
    RowAmounts,
    has_expired_items,
    is_in_archive,
    list_incomplete_kept,
    render_marker_partition,
    select_lacking_rows,
    sum_rows,
)
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget, make_mapper, retry
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho.storage.protocols import DescribesStream, GetsItems
from daicho.storage.requests import MAX_TRANSACTION_WRITES, Update, Write
from daicho.storage.table import BatchGetResult, Table
from daicho.stream.heartbeat_watcher import HeartbeatProgress, HeartbeatRun, HeartbeatWatcher
from daicho.tally import slots

TRANSACTION_UNITS = 2.0
"""Write units of each item of a transaction."""
RECORDS_PER_REQUEST = 100


@dataclass
class FillReport:
    """What became of the objects that were read.

    ``position``: the name of the last one; all before it are done. ``finished``: no object is left.
    ``rows``: how many rows were added. ``left``: rows that the newest plan cannot derive, with the
    reasons. ``broken``: objects that cannot be read, with the reasons.
    """

    position: str = ""
    finished: bool = False
    rows: int = 0
    left: dict[str, str] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)

    def take_rows(self) -> int:
        """The rows that were added since the last call."""
        rows, self.rows = self.rows, 0
        return rows


@dataclass(frozen=True)
class KeptParts:
    """Completes kept parts on one table.

    ``archive``: None if the stack has no archive. ``dirty_shards``: how many partitions marks of
    slots are spread over. ``parallelism``: how many objects are worked on at once. ``read`` limits
    read units and ``written`` write units a second.
    """

    store: Table
    stream: DescribesStream
    archive: ArchiveReader | None
    ledger: Ledger
    now: Callable[[], dt.datetime]
    dirty_shards: int
    parallelism: int = 1
    read: RateLimiter = field(default_factory=lambda: RateLimiter(None))
    written: RateLimiter = field(default_factory=lambda: RateLimiter(None))

    def list_completable(self, state: BackfillState) -> frozenset[Instance]:
        """The incomplete aggregates that count expired items, and that can be completed."""
        return frozenset(
            instance
            for instance in list_incomplete_kept(state, self.ledger)
            if not has_expired_items(state.entity, instance, self.ledger)
            or (self.archive is not None and is_in_archive(state.entity, instance, self.ledger))
        )

    def list_filled(self, states: Iterable[BackfillState]) -> dict[str, frozenset[Instance]]:
        """The instances of each entity to which archived rows have to be added."""
        filled = {
            state.entity: frozenset(
                instance
                for instance in self.list_completable(state)
                if has_expired_items(state.entity, instance, self.ledger)
            )
            for state in states
        }
        return {entity: instances for entity, instances in filled.items() if instances}

    def watch_archiver(
        self, id: str, entities: Sequence[str], retry_budget: RetryBudget
    ) -> HeartbeatProgress:
        """Wait until the archiver has passed heartbeats of these entities; see the watcher.

        ``id``: of a run of heartbeats, which no other run of the archiver has. Then all that
        expired before this call is in the archive, or in the failure bucket.
        """
        return self._watcher.watch(HeartbeatRun(id, tuple(entities)), retry_budget)

    def forget_heartbeats(self, id: str, entities: Sequence[str]) -> None:
        """Remove a run that is over from the items of the archiver's shards.

        Raises:
            StoreError: it may not be removed from all of them.
        """
        self._watcher.forget(HeartbeatRun(id, tuple(entities)))

    def fill(
        self,
        filled: Mapping[str, frozenset[Instance]],
        position: str,
        retry_budget: RetryBudget,
        on_progress: Callable[[FillReport], None] = lambda _: None,
    ) -> FillReport:
        """Add archived rows to instances, as many objects as there is time for.

        ``filled``: the instances by entity. ``position``: of an earlier report, behind which it
        continues. ``on_progress`` receives the report after each round of objects. An object that
        cannot be read ends the run before it.

        Raises:
            StoreError: a store fails; repeat it from the position of the last report.
        """
        report = FillReport(position, finished=not filled)
        if not filled:
            return report
        if self.archive is None:
            raise StoreError("the stack has no archive to read")
        names = self._list_objects(self.archive, sorted(filled), position)
        closed = _ClosedTenants(self.store, self.now)
        map_all = make_mapper(self.parallelism)
        while window := list(islice(names, self.parallelism)):
            if not retry_budget.has_time_left:
                return report
            add = partial(self._add_object, self.archive, filled, closed, retry_budget)
            for (_, name), result in zip(window, list(map_all(add, window)), strict=True):
                if isinstance(result, CorruptObjectError):
                    report.broken[name] = str(result)
                    return report
                report.position = name
                report.rows += result.rows
                report.left |= result.left
            on_progress(report)
        report.finished = True
        return report

    def _list_objects(
        self, archive: ArchiveReader, entities: Sequence[str], position: str
    ) -> Iterator[tuple[str, str]]:
        """The objects of entities behind a position: entity and name, in order of name."""
        for info in archive.list_selected(Selection(tuple(entities)), behind=position):
            yield info.entity, info.name

    def _add_object(
        self,
        archive: ArchiveReader,
        filled: Mapping[str, frozenset[Instance]],
        closed: _ClosedTenants,
        retry_budget: RetryBudget,
        entry: tuple[str, str],
    ) -> RowAmounts | CorruptObjectError:
        entity, name = entry
        try:
            rows = archive.read(name).rows
        except CorruptObjectError as error:
            return error
        instances = filled[entity]
        lacking = select_lacking_rows(rows, instances, self.ledger)
        restored = self._read_restored(lacking, retry_budget)
        plan = self.ledger.newest_generation(entity).plan
        sums = sum_rows(lacking, restored, plan, instances, self.ledger)
        for instance, amounts in sums.amounts.items():
            if amounts:
                key = build_marker_key(entity, instance, name)
                self._add_amounts(key, amounts, closed, retry_budget)
        return sums

    def _read_restored(
        self, rows: Mapping[str, ArchivedRow], retry_budget: RetryBudget
    ) -> dict[str, int]:
        """The generation of the image that the first restore of each restored row wrote.

        The record of a row keeps it. No restore writes an older generation any more, so a record
        that is written after this changes nothing.
        """
        record_keys = {
            build_restoration_key(row.tenant, row.entity, seq): seq for seq, row in rows.items()
        }
        restored: dict[str, int] = {}
        keys_left = iter(record_keys)
        while chunk := list(islice(keys_left, RECORDS_PER_REQUEST)):
            self.read.wait(len(chunk))
            records = retry(partial(self._read_records, chunk), retry_budget)
            restored |= {
                record_keys[key]: attributes.get_integer(record, "gen") or 0
                for key, record in records.items()
            }
        return restored

    def _read_records(self, chunk: Collection[ItemKey]) -> Mapping[ItemKey, Image]:
        result: BatchGetResult = self.store.batch_get(chunk, consistent=True)
        return result.require_all()

    def _add_amounts(
        self,
        marker: ItemKey,
        amounts: Mapping[str, Amount],
        closed: _ClosedTenants,
        retry_budget: RetryBudget,
    ) -> None:
        """Add the amounts of one object to the tallies of an instance, from its marker on."""
        while True:
            behind = self._read_marker(marker, retry_budget)
            tallies = sorted(tally for tally in amounts if tally > behind)
            if not tallies:
                return
            added: list[Write] = []
            last = behind
            for tally in tallies:
                if closed.contains(keys.parse(tally)[0], retry_budget):
                    last = tally
                    continue
                updates = self._add_amount(tally, amounts[tally])
                if len(added) + len(updates) >= MAX_TRANSACTION_WRITES:
                    break
                added += updates
                last = tally
            writes: list[Write] = [_move_marker(marker, behind, last), *added]
            self.written.wait(TRANSACTION_UNITS * len(writes))
            try:
                retry(partial(self.store.transact, writes), retry_budget)
            except TransactionFailedError:
                continue  # its answer was lost, or another step has added the same rows

    def _add_amount(self, tally: str, amount: Amount) -> list[Update]:
        """The updates of slots that add an amount: one, or several if it has many parts."""
        is_small = len(amount.parts) <= slots.MAX_UPDATE_PARTS
        pieces = [amount] if is_small else split_parts(amount, slots.ARCHIVED_PIECES)
        return [
            slots.add_redriven_delta(
                slots.build_archived_key(tally, 0 if is_small else number),
                piece,
                dirty_shards=self.dirty_shards,
                now=self.now(),
            )
            for number, piece in enumerate(pieces, 1)
            if piece
        ]

    def _read_marker(self, marker: ItemKey, retry_budget: RetryBudget) -> str:
        """The last tally to which the rows of an object were added; empty if none were."""
        item = retry(partial(self.store.get, marker, consistent=True), retry_budget)
        return "" if item is None else item["behind"]["S"]

    @property
    def _watcher(self) -> HeartbeatWatcher:
        return HeartbeatWatcher(self.store, self.stream, now=self.now, build_key=build_progress_key)


@dataclass
class _ClosedTenants:
    """Tenants that are closed for good: nobody reads their tallies, and a deletion removes them.

    Threads may share it. ``checked``: by tenant, when its mark was read, and whether it is closed.
    """

    store: GetsItems
    now: Callable[[], dt.datetime]
    checked: dict[str, tuple[dt.datetime, bool]] = field(default_factory=dict)

    def contains(self, tenant: str, retry_budget: RetryBudget) -> bool:
        """Whether a tenant is closed.

        Raises:
            StoreError: the table does not answer.
        """
        now = self.now()
        read_at, is_closed = self.checked.get(tenant, (None, False))
        if is_closed or (read_at is not None and (now - read_at).total_seconds() < CLOSED_CACHE_S):
            return is_closed
        key = build_closed_mark_key(tenant)
        is_closed = retry(partial(self.store.get, key, consistent=True), retry_budget) is not None
        self.checked[tenant] = (now, is_closed)
        return is_closed


def build_marker_key(entity: str, instance: Instance, name: str) -> ItemKey:
    """The key of the marker of an object and an instance. ``name``: of the object."""
    return ItemKey(render_marker_partition(entity, render_instance(instance)), keys.render(name))


def _move_marker(marker: ItemKey, before: str, tally: str) -> Update:
    """Move a marker to a tally, if it is as read."""
    values: dict[str, attributes.AttributeValue] = {":tally": {"S": tally}}
    if not before:
        condition = "attribute_not_exists(behind)"
    else:
        condition = "behind = :before"
        values[":before"] = {"S": before}
    return Update(marker, "SET behind = :tally", condition, values=values)
