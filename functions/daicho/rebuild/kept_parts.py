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

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property, partial
from itertools import islice

from daicho.archive.object_format import CorruptObjectError
from daicho.archive.reader import ArchiveReader, Selection, StoredObjectInfo
from daicho.archive.row_format import ArchivedRow
from daicho.archive.shard_progress import build_progress_key
from daicho.derive.contributions import Amount, split_parts
from daicho.errors import StoreError, TransactionFailedError
from daicho.layout.backfill_state import BackfillState, render_instance
from daicho.layout.marks import build_restoration_key
from daicho.layout.tenant_items import CLOSED_CACHE_S, build_closed_mark_key
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
from daicho.rebuild.table_step import TableDependencies
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget, make_mapper, retry
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.item_cache import ItemCache
from daicho.storage.requests import MAX_TRANSACTION_WRITES, Update, Write
from daicho.stream.heartbeat_watcher import HeartbeatWatcher
from daicho.tally import slots

TRANSACTION_UNITS = 2.0
"""Write units of each item of a transaction."""
RECORDS_PER_REQUEST = 100


@dataclass
class FillReport:
    """What became of the objects of one round.

    ``position``: the name of the last one; all before it are done. ``finished``: no object is left.
    ``rows``: how many rows were added. ``left``: rows that the newest plan cannot derive, with the
    reasons. ``broken``: objects that cannot be read, with the reasons.
    """

    position: str = ""
    finished: bool = False
    rows: int = 0
    left: dict[str, str] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class KeptParts:
    """Completes kept parts on one table, in one step of a rebuild.

    ``retry_budget``: the time of the step. ``written`` limits write units a second.
    """

    on: TableDependencies
    retry_budget: RetryBudget
    written: RateLimiter = field(default_factory=lambda: RateLimiter(None))

    @cached_property
    def _closed(self) -> ItemCache:
        """Marks of closed tenants. Threads share it."""
        return ItemCache(self.on.now)

    @property
    def watcher(self) -> HeartbeatWatcher:
        """Watches heartbeats until the archiver has passed them.

        Then all that expired before a heartbeat was sent is in the archive, or in the failure
        bucket. A run of heartbeats has an ``id`` that no other run of the archiver has.
        """
        on = self.on
        return HeartbeatWatcher(on.store, on.stream, now=on.now, build_key=build_progress_key)

    def list_completable(self, state: BackfillState) -> frozenset[Instance]:
        """The incomplete aggregates that count expired items, and that can be completed."""
        return frozenset(
            instance
            for instance in list_incomplete_kept(state, self.on.ledger)
            if not has_expired_items(state.entity, instance, self.on.ledger)
            or (
                self.on.archive is not None
                and is_in_archive(state.entity, instance, self.on.ledger)
            )
        )

    def list_filled(self, states: Iterable[BackfillState]) -> dict[str, frozenset[Instance]]:
        """The instances of each entity to which archived rows have to be added."""
        filled = {
            state.entity: frozenset(
                instance
                for instance in self.list_completable(state)
                if has_expired_items(state.entity, instance, self.on.ledger)
            )
            for state in states
        }
        return {entity: instances for entity, instances in filled.items() if instances}

    def fill(
        self, filled: Mapping[str, frozenset[Instance]], position: str
    ) -> Iterator[FillReport]:
        """Add archived rows to instances, as many objects as there is time for.

        Returns a report of each round of objects. ``filled``: the instances by entity.
        ``position``: of an earlier report, behind which it continues. An object that cannot be
        read ends the work before it.

        Raises:
            StoreError: a store fails; repeat it from the position of the last report.
        """
        archive = self.on.archive
        if filled and archive is None:
            raise StoreError("the stack has no archive to read")
        if filled and archive is not None:
            objects = archive.list_selected(Selection(tuple(sorted(filled))), behind=position)
            map_all = make_mapper(self.on.parallelism)
            add = partial(self._add_object, archive, filled)
            while window := list(islice(objects, self.on.parallelism)):
                if not self.retry_budget.has_time_left:
                    return
                report = FillReport(position)
                for info, result in zip(window, list(map_all(add, window)), strict=True):
                    if isinstance(result, CorruptObjectError):
                        report.broken[info.name] = str(result)
                        yield report
                        return
                    report.position = position = info.name
                    report.rows += result.rows
                    report.left |= result.left
                yield report
        yield FillReport(position, finished=True)

    def _add_object(
        self,
        archive: ArchiveReader,
        filled: Mapping[str, frozenset[Instance]],
        info: StoredObjectInfo,
    ) -> RowAmounts | CorruptObjectError:
        entity, name = info.entity, info.name
        try:
            rows = archive.read(name).rows
        except CorruptObjectError as error:
            return error
        instances = filled[entity]
        lacking = select_lacking_rows(rows, instances, self.on.ledger)
        restored = self.read_restored(lacking)
        plan = self.on.ledger.newest_generation(entity).plan
        sums = sum_rows(lacking, restored, plan, instances, self.on.ledger)
        for instance, amounts in sums.amounts.items():
            if amounts:
                key = build_marker_key(entity, instance, name)
                self._add_amounts(key, amounts)
        return sums

    def read_restored(self, rows: Mapping[str, ArchivedRow]) -> dict[str, int]:
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
            self.on.read.wait(len(chunk))
            records = retry(partial(self._read_records, chunk), self.retry_budget)
            restored |= {
                record_keys[key]: attributes.get_integer(record, "gen") or 0
                for key, record in records.items()
            }
        return restored

    def _read_records(self, chunk: Collection[ItemKey]) -> Mapping[ItemKey, Image]:
        return self.on.store.batch_get(chunk, consistent=True).require_all()

    def _add_amounts(self, marker: ItemKey, amounts: Mapping[str, Amount]) -> None:
        """Add the amounts of one object to the tallies of an instance, from its marker on."""
        while True:
            behind = self.read_marker(marker)
            tallies = sorted(tally for tally in amounts if tally > behind)
            if not tallies:
                return
            added: list[Write] = []
            last = behind
            for tally in tallies:
                if self._is_closed(keys.parse(tally)[0]):
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
                retry(partial(self.on.store.transact, writes), self.retry_budget)
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
                dirty_shards=self.on.dirty_shards,
                now=self.on.now(),
            )
            for number, piece in enumerate(pieces, 1)
            if piece
        ]

    def read_marker(self, marker: ItemKey) -> str:
        """The last tally to which the rows of an object were added; empty if none were."""
        item = retry(partial(self.on.store.get, marker, consistent=True), self.retry_budget)
        return "" if item is None else item["behind"]["S"]

    def _is_closed(self, tenant: str) -> bool:
        """Whether a tenant is closed: nobody reads its tallies, and its deletion removes them."""
        key = build_closed_mark_key(tenant)
        read = partial(self.on.store.get, key, consistent=True)
        read_again = partial(retry, read, self.retry_budget)
        return self._closed.get(key, CLOSED_CACHE_S, read_again, absence=True) is not None


def build_marker_key(entity: str, instance: Instance, name: str) -> ItemKey:
    """The key of the marker of an object and an instance. ``name``: of the object."""
    return ItemKey(render_marker_partition(entity, render_instance(instance)), keys.render(name))


def _move_marker(marker: ItemKey, before: str, tally: str) -> Update:
    """Move a marker to a tally, if it is as read."""
    condition = "behind = :before" if before else "attribute_not_exists(behind)"
    values = attributes.to_image({":tally": tally, ":before": before or None})
    return Update(marker, "SET behind = :tally", condition, values=values)
