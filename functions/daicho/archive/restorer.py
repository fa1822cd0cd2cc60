"""Restores archived items into the table, as ordinary writes.

A restored item lives as long as a new one and has its entity's current generation. Its derived
items follow through the stream. It carries a mark of its row, and the table keeps a record of each
restored row (`daicho.layout.marks`). So a second run recognises its own work. A tally that
still counts the expired item takes its amount back once, however often the row is restored
(rule 42). A rebuild that adds archived rows to a newer aggregate decides by the generation that the
first restore of a row wrote (rule 33). So a restore ends when a newer generation is released, and
older code does not restore a row that only the newest generation can count.
"""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any, Literal

from daicho.archive.closed_tenants import ClosedTenants, is_valid
from daicho.archive.object_format import CorruptObjectError
from daicho.archive.reader import ArchiveReader, Selection
from daicho.archive.restored_image import UnrestorableError, build_restored_image, set_mark
from daicho.archive.row_format import ArchivedRow
from daicho.errors import NotUnique, Raced, TransactionFailedError, UnavailableError
from daicho.layout.backfill_state import BackfillState, build_backfill_key
from daicho.layout.marks import (
    RestoredMark,
    build_record_put,
    build_restoration_key,
    is_dismissed,
    is_recorded,
)
from daicho.layout.reservation_writer import ReservationWriter, check_free
from daicho.plan import Ledger
from daicho.release.refusals import ReleaseRefusedError
from daicho.runtime.clock import ClockReading, read_clocks, utc_now
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget, make_mapper, retry_all
from daicho.storage import attributes
from daicho.storage.attributes import AttributeValue, Image, ItemKey
from daicho.storage.requests import Put, Write, require_same
from daicho.storage.table import Table

Outcome = Literal["restored", "own", "replaced", "already", "newer", "waiting"]
WRITTEN: tuple[Outcome, ...] = ("restored", "replaced")
ATTEMPTS = 8
MAX_NAMED = 1_000
"""The most rows that a report names one by one."""
RESTORED_LIFETIME = 48 * 3600.0


@dataclass
class RestoreReport:
    """The result of a restoration. After a dry run: what a run would do.

    ``rows``: selected; of one key only the newest is restored. ``restored``: written now, of these
    ``replaced`` over a live item. ``already``: restored by an earlier run. ``newer``: not written,
    because a live item exists. ``waiting``: an expired item exists, and must be archived first.
    ``unrestorable`` and ``broken`` name rows and objects with the reason. ``cursor``: the next run
    continues behind it. ``finished``: nothing is left behind the cursor.
    """

    dry_run: bool = True
    rows: int = 0
    items: int = 0
    restored: int = 0
    replaced: int = 0
    already: int = 0
    newer: int = 0
    waiting: int = 0
    failed: int = 0
    unrestorable: list[dict[str, Any]] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)
    cursor: str = ""
    finished: bool = False

    @property
    def complete(self) -> bool:
        """Whether every selected row is restored."""
        left = (self.newer, self.waiting, self.failed, self.broken)
        return self.finished and not any(left)

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        named = {"unrestorable": self.unrestorable[:MAX_NAMED]}
        return {**vars(self), **named, "failed": self.failed, "complete": self.complete}

    def add_failure(self, row: ArchivedRow, error: Exception) -> None:
        """Note a row that cannot be restored."""
        self.failed += 1
        if len(self.unrestorable) < MAX_NAMED:
            key = [row.key.pk, row.key.sk]
            self.unrestorable.append({"seq": row.seq, "item": key, "error": str(error)})


@dataclass(frozen=True)
class Restorer:
    """Restores archived items. ``threads``: how many items are written at once.

    ``pace``: of items that are restored, or only looked at in a dry run.
    """

    store: Table
    archive: ArchiveReader
    ledger: Ledger
    threads: int = 8
    pace: RateLimiter = field(default_factory=lambda: RateLimiter(None))
    now: Callable[[], dt.datetime] = utc_now
    clocks: Callable[[], ClockReading] = read_clocks

    def restore(
        self,
        selection: Selection,
        *,
        dry_run: bool = True,
        over_newer: bool = False,
        resume: str = "",
        on_progress: Callable[[RestoreReport], None] = lambda _: None,
        retry_budget: RetryBudget | None = None,
    ) -> RestoreReport:
        """Restore the selected rows, one object after the other.

        Of the rows of one key only the newest is restored. A live item is replaced only if
        ``over_newer`` is set. ``resume``: the cursor of an unfinished report. ``on_progress``
        receives the report after each object. It may be run again: restored items stay as they
        are. ``retry_budget``: no object is begun after its end, so the report is not ``finished``.

        Raises:
            ReleaseRefusedError: a generation was released meanwhile that the ledger lacks.
        """
        retry_budget = retry_budget or RetryBudget.for_seconds(RESTORED_LIFETIME)
        report = RestoreReport(dry_run, cursor=resume)

        def note_broken(name: str, error: CorruptObjectError) -> None:
            report.broken[name] = str(error)

        newest: dict[ItemKey, tuple[dt.datetime, str]] = {}
        for row in self.archive.read_rows(selection, note_broken):
            report.rows += 1
            before = newest.get(row.key, (row.deleted_at, ""))
            newest[row.key] = max((row.deleted_at, row.seq), before)
        report.items = len(newest)
        run = self.start_run(report, over_newer=over_newer)
        map_rows = make_mapper(self.threads)

        def restore_row(row: ArchivedRow) -> Outcome | None:
            self.pace.wait(1)
            return run.restore_row(row)

        for name, selected in self.archive.read_objects(selection, note_broken, behind=resume):
            rows = [row for row in selected if newest.get(row.key) == (row.deleted_at, row.seq)]
            if retry_all(rows, restore_row, retry_budget, map_rows):
                return report
            report.cursor = name
            on_progress(report)
            if not retry_budget.has_time_left:
                return report
        report.finished = True
        return report

    def start_run(self, report: RestoreReport, *, over_newer: bool) -> RestoreRun:
        """A run that restores rows of the caller's choice, and counts them in ``report``."""
        tenants = ClosedTenants(self.store, self.clocks)
        return RestoreRun(
            self.store, self.ledger, self.now(), self.clocks, over_newer, report, tenants
        )


@dataclass(frozen=True)
class RestoreRun:
    """One run over rows, with one time of restore. Threads may share it."""

    store: Table
    ledger: Ledger
    now: dt.datetime
    clocks: Callable[[], ClockReading]
    over_newer: bool
    report: RestoreReport
    tenants: ClosedTenants
    lock: threading.Lock = field(default_factory=threading.Lock)
    checked: dict[str, ClockReading] = field(default_factory=dict)
    """By entity: just before its backfill item was read last."""

    def restore_row(self, row: ArchivedRow) -> Outcome | None:
        """Restore the item of one row, or note why that is not possible: then the answer is None.

        Raises:
            UnavailableError: the result is unknown.
            ReleaseRefusedError: a newer generation of its entity was released.
        """
        self._check_release(row.entity)
        try:
            if self.tenants.is_closed(row.tenant):
                raise UnrestorableError(f"the tenant {row.tenant} is closed for good")
            image, mark = build_restored_image(row, self.ledger, self.now)
            if self.report.dry_run:
                existing = self.store.get(row.key, consistent=True)
                outcome = self._decide_outcome(mark, existing, None)
                if outcome in WRITTEN:
                    plan = self.ledger.current_generation(row.entity).plan
                    check_free(self.ledger, self.store, plan, image, int(self.now.timestamp()))
            else:
                outcome = self._write_item(row, image, mark)
        except (UnrestorableError, NotUnique) as error:
            with self.lock:
                self.report.add_failure(row, error)
            return None
        self._count(outcome)
        return outcome

    def _write_item(
        self, row: ArchivedRow, image: dict[str, AttributeValue], mark: RestoredMark
    ) -> Outcome:
        """Write the item and the record of its row, or find that it must not be written.

        The first attempt reads nothing: if it is refused, the answer has what exists.
        """
        key = build_restoration_key(row.tenant, row.entity, row.seq)
        existing: Image | None = None
        record: Image | None = None
        for _ in range(ATTEMPTS):
            outcome = self._decide_outcome(mark, existing, record)
            if outcome not in WRITTEN:
                return outcome
            is_first = record is None and not is_dismissed(row.item)
            set_mark(image, _follow(mark if is_first else mark.as_repeated(), image, existing))
            record_put = build_record_put(key, mark, int(image["gen"]["N"]), record)
            try:
                self._transact(existing, image, [_build_item_put(existing, image), record_put])
            except TransactionFailedError as failed:
                existing = failed.refused.get(0, existing)
                record = failed.refused.get(1, record)
            else:
                return outcome
        raise UnavailableError(f"other writers changed {row.key} in each of {ATTEMPTS} attempts")

    def _transact(self, existing: Image | None, image: Image, writes: Sequence[Write]) -> None:
        """Write an item and what belongs to it, with the reservations of its unique values.

        Raises:
            NotUnique: another item has one of the values by now.
            TransactionFailedError: one of ``writes`` was refused.
        """
        now = int(self.now.timestamp())
        reserving = ReservationWriter.build(self.ledger, self.store, [(existing, image)], now)
        try:
            reserving.send(writes, self.store.transact)
        except Raced as error:
            raise UnavailableError(str(error)) from error

    def _check_release(self, entity: str) -> None:
        """Stop if a newer generation was released: this ledger does not know what it counts.

        Also before its own generation is released: no item may be of it yet (rule 27).
        """
        now = self.clocks()
        if entity not in self.ledger.entities or is_valid(self.checked.get(entity), now):
            return
        item = self.store.get(build_backfill_key(entity), consistent=True)
        released = 0 if item is None else BackfillState.parse(entity, item).newest
        known = self.ledger.newest_generation(entity).number
        if released > known:
            raise ReleaseRefusedError(
                f"{entity} generation {released} was released, and this checkout knows generation "
                f"{known}: take the lock file that was deployed"
            )
        written = self.ledger.current_generation(entity).number
        if item is not None and written > released and not self.report.dry_run:
            raise ReleaseRefusedError(
                f"{entity} generation {written} is not released yet, and another lock file may be "
                "deployed instead: restore after the deployment"
            )
        self.checked[entity] = now

    def _decide_outcome(
        self, mark: RestoredMark, existing: Image | None, record: Image | None
    ) -> Outcome:
        """The outcome of the restore with this mark at a key that has the item ``existing``.

        ``record`` is the record of the archived row, None if the row was never restored.

        Raises:
            UnrestorableError: the existing item has a mark that no restore wrote.
        """
        try:
            other = RestoredMark.from_image(existing)
        except (KeyError, TypeError, ValueError) as error:
            raise UnrestorableError(
                f"the item at its key has an unknown mark: {error!r}"
            ) from error
        if mark.is_same_restore(other) or is_recorded(record, mark):
            return "own"  # written by this call, whose answer was lost
        if existing is None:
            return "restored"
        if other is not None and other.seq == mark.seq:
            return "already"
        if (attributes.get_integer(existing, "ttl") or _NEVER) <= self.now.timestamp():
            return "waiting"
        return "replaced" if self.over_newer else "newer"

    def _count(self, outcome: Outcome) -> None:
        report = self.report
        with self.lock:
            report.restored += outcome in ("restored", "replaced", "own")
            report.replaced += outcome == "replaced"
            report.already += outcome == "already"
            report.newer += outcome == "newer"
            report.waiting += outcome == "waiting"


def _follow(mark: RestoredMark, image: Image, replaced: Image | None) -> RestoredMark:
    """The mark with a version that no other state of the item's life has.

    Else a write that expects the version of an earlier state would be made over another one.
    """
    if replaced is None or replaced.get("created_at") != image.get("created_at"):
        return mark
    last = attributes.get_integer(replaced, "version") or 0
    return replace(mark, version=max(mark.version or 0, last + 1))


def _build_item_put(existing: Image | None, image: Image) -> Put:
    """Write the item if its key has no item, or still has the item that was read."""
    if existing is None:
        return Put(image, "attribute_not_exists(PK)")
    return Put(image, *require_same(existing, ("version", "created_at", "ttl")))


_NEVER = float("inf")
