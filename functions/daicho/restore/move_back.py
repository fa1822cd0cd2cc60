"""Moves items back to an earlier moment over a healthy stream (rule 59, way A).

Both tables are compared, and the items that differ are written by ordinary writes that the stream
derives from. So the derived state stays exact at any moment, whenever the run is killed.

A life that begins again may have an archived row, whose amounts are kept. It is restored by that
row first (rule 42), even over a later life. To know that no such row is on its way, a heartbeat
passes the archiver after the tables were read, and before the archive is. A life that was live when
the tables were read waits for another round.
"""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import field, replace
from functools import partial
from itertools import islice

from daicho.archive.closed_tenants import ClosedTenants
from daicho.archive.object_format import CorruptObjectError
from daicho.archive.reader import ArchiveReader, Selection
from daicho.archive.restorer import WRITTEN, Restorer, RestoreReport, RestoreRun
from daicho.archive.row_format import ArchivedRow
from daicho.archive.shard_progress import build_progress_key
from daicho.errors import DaichoError
from daicho.layout.marks import build_restoration_key
from daicho.plan import Ledger
from daicho.restore import differences
from daicho.restore.changes import ChangePlanner, ItemChange
from daicho.restore.differences import Difference, DifferenceFile, DifferenceFinder, ItemChoice
from daicho.restore.item_states import SkippedError, is_same_life
from daicho.restore.item_writer import RestoredItemWriter
from daicho.runtime.clock import ClockReading, read_clocks, utc_now
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget, make_mapper, retry
from daicho.storage.attributes import ItemKey
from daicho.storage.bucket import Bucket
from daicho.storage.protocols import DescribesStream
from daicho.storage.table import Table
from daicho.stream.heartbeat_watcher import HeartbeatRun, HeartbeatWatcher
from daicho.stream.shard_items import has_discarded_batches

MAX_ROUNDS = 10
BATCH_ITEMS = 1_000
"""Items whose changes are in work at once."""
SNAPSHOT_MARGIN = dt.timedelta(hours=1)
"""How long before the moment a row of the archive is looked at: clocks differ."""
ITEM_RETRY_S = 60.0
WAIT_S, MAX_WAITS = 30.0, 20
"""How long a heartbeat is waited for at once, in seconds, and how often."""
MAX_KEYS = 100
ROW_UNITS = 4.0
"""Write units of a small item that is restored from the archive, with the record of its row."""


class MoveBackError(DaichoError):
    """The items cannot be moved back. The message names what to do."""


@dataclass(frozen=True)
class MoveBack:
    """One run over one table and a copy of it.

    ``at``: the moment that the copy is of. ``written`` bounds write units a second, ``read`` read
    units. ``objects``: see `RestoredItemWriter`. ``renew``: called again and again; it raises if
    another run has begun. ``budget``: the time of the whole run. ``restored``: the items whose
    archived rows were restored in this round; ``unreturnable``: those whose rows could not be.
    """

    store: Table
    copy: Table
    stream: DescribesStream
    archive: ArchiveReader
    failures: Bucket
    ledger: Ledger
    at: dt.datetime
    choice: ItemChoice
    run_id: str
    written: RateLimiter
    read: RateLimiter
    budget: RetryBudget
    objects: Mapping[str, Sequence[str]] = field(default_factory=dict)
    threads: int = 8
    now: Callable[[], dt.datetime] = utc_now
    clocks: Callable[[], ClockReading] = read_clocks
    renew: Callable[[], None] = lambda: None
    on_progress: Callable[[differences.MoveBackReport], None] = lambda _: None
    unreturnable: dict[ItemKey, str] = field(default_factory=dict)
    restored: set[ItemKey] = field(default_factory=set)

    def find_differences(self, file: DifferenceFile) -> differences.MoveBackReport:
        """Compare the tables; returns what `apply_changes` would do. Nothing is written.

        Raises:
            StoreError: a table does not answer.
        """

        def note(report: differences.MoveBackReport) -> None:
            self.renew()
            self.on_progress(report)

        finder = DifferenceFinder(
            self._planner, self.choice, self.read, self.budget, self.threads, note
        )
        return finder.find(file)

    def apply_changes(self, file: DifferenceFile) -> differences.MoveBackReport:
        """Write what differs, round after round, until nothing waits or nothing is written.

        Raises:
            MoveBackError: the stream or the archive is not in order.
            StoreError: a store does not answer.
        """
        report = differences.MoveBackReport()
        with ExitStack() as files:
            for number in range(MAX_ROUNDS):
                before = report.total
                report.skipped.clear()
                report.named.clear()
                waiting = files.enter_context(open_difference_file())
                count = self._run_round(number, file, waiting, report)
                if not count or (number and report.total == before):
                    break
                file = waiting
        return report

    def _run_round(
        self,
        number: int,
        file: DifferenceFile,
        waiting: DifferenceFile,
        report: differences.MoveBackReport,
    ) -> int:
        """Write the differences of a file; returns how many have to be tried again."""
        if self._has_returning(file):
            entities = {*self.choice.entities} & {*self.ledger.archived_types}
            heartbeats = HeartbeatRun(f"{self.run_id}-{number}", tuple(sorted(entities)))
            wait_for_archiver(
                self.store, self.stream, self.failures, heartbeats, self.now, self.renew
            )
            self._restore_archived_rows(report)
        archived, count = set(self.ledger.archived_types), 0
        map_all = make_mapper(self.threads)
        writer = RestoredItemWriter(self._planner, self.written, self.objects)

        def move(difference: Difference) -> tuple[Difference, list[ItemChange] | str]:
            refused: set[ItemKey] = set()

            def may_return(change: ItemChange) -> bool:
                is_looked_up = change.key == difference.key and difference.returns
                # A life that was restored since, and has ended again, has a later row.
                is_looked_up = is_looked_up and change.key not in self.restored
                if is_looked_up or change.plan.name not in archived:
                    return True
                refused.add(change.key)
                return False

            try:
                work = partial(writer.move_back, difference.key, may_return)
                changes = retry(work, RetryBudget.for_seconds(ITEM_RETRY_S))
            except SkippedError as error:
                return difference, str(error)
            if changes is None:
                looked_up = replace(difference, returns=difference.key in refused)
                return looked_up, "it expired meanwhile: the archive is read again"
            return difference, changes

        rows = file.read()
        while batch := list(islice(rows, BATCH_ITEMS)):
            self.renew()
            for difference, outcome in map_all(move, batch):
                if isinstance(outcome, list):
                    for change in outcome:
                        report.add_change(change)
                    continue
                count += 1
                waiting.append(difference)
                report.add_skip(difference.key, difference.entity, outcome)
            self.on_progress(report)
        return count

    # --- Lives with an archived row ------------------------------------------------------------

    def _has_returning(self, file: DifferenceFile) -> bool:
        archived = set(self.ledger.archived_types)
        return any(each.returns and each.entity in archived for each in file.read())

    def _restore_archived_rows(self, report: differences.MoveBackReport) -> None:
        """Restore the rows of lives that the copy has and the live table lacks (rule 42).

        Raises:
            MoveBackError: an object of the archive cannot be read.
        """
        self.unreturnable.clear()
        self.restored.clear()
        archived = tuple(sorted({*self.choice.entities} & {*self.ledger.archived_types}))
        since = self.at - SNAPSHOT_MARGIN
        selection = Selection(archived, self.choice.tenant or None, since=since)

        def refuse_broken(name: str, error: CorruptObjectError) -> None:
            raise MoveBackError(f"{name} of the archive cannot be read: {error}")

        restorer = Restorer(self.store, self.archive, self.ledger, now=self.now, clocks=self.clocks)
        run = restorer.start_run(RestoreReport(dry_run=False), over_newer=True)
        for _, rows in self.archive.read_objects(selection, refuse_broken):
            self.renew()
            for begin in range(0, len(rows), MAX_KEYS):
                self._restore_rows(rows[begin : begin + MAX_KEYS], run, report)

    def _restore_rows(
        self,
        rows: Sequence[ArchivedRow],
        run: RestoreRun,
        report: differences.MoveBackReport,
    ) -> None:
        stored = self.copy.batch_get(row.key for row in rows).require_all()
        for row in rows:
            image = stored.get(row.key)
            if image is None or not is_same_life(row.item, image) or self._was_restored(row):
                continue
            try:
                change = self._planner.plan_from_tables(row.key)
            except SkippedError:
                continue
            if change is None or not change.returns:
                continue
            self.written.wait(ROW_UNITS)
            budget = RetryBudget.for_seconds(ITEM_RETRY_S)
            outcome = retry(partial(run.restore_row, row), budget)
            if outcome in WRITTEN or outcome == "own":
                self.restored.add(row.key)
                report.add_returned(row.entity)
            else:
                errors = [str(each["error"]) for each in run.report.unrestorable[-1:]]
                waits = "an expired item at its key waits for its removal"
                self.unreturnable[row.key] = waits if outcome == "waiting" else "".join(errors)

    def _was_restored(self, row: ArchivedRow) -> bool:
        """Whether the row was restored before: then its amounts are not kept any more.

        If the life has expired again, it has a later row.
        """
        key = build_restoration_key(row.tenant, row.entity, row.seq)
        return self.store.get(key, consistent=True) is not None

    @property
    def _planner(self) -> ChangePlanner:
        return ChangePlanner(
            self.copy,
            self.store,
            self.ledger,
            self.at,
            self.now,
            ClosedTenants(self.store, self.clocks),
            self.unreturnable,
        )


@contextmanager
def open_difference_file() -> Iterator[DifferenceFile]:
    """An empty file of differences, which is removed at the end."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
        yield DifferenceFile(file)


def wait_for_archiver(
    store: Table,
    stream: DescribesStream,
    failures: Bucket,
    heartbeats: HeartbeatRun,
    now: Callable[[], dt.datetime],
    renew: Callable[[], None],
) -> None:
    """Wait until each item that has expired before this moment is in the archive.

    ``heartbeats``: of the entities in question. ``renew``: called again and again.

    Raises:
        MoveBackError: the archiver is late, or batches were set aside.
    """
    watcher = HeartbeatWatcher(store, stream, now, build_progress_key)
    for _ in range(MAX_WAITS):
        progress = watcher.watch(heartbeats, RetryBudget.for_seconds(WAIT_S))
        renew()
        if progress.has_passed:
            break
    else:
        raise MoveBackError(f"the archive function is late ({progress}): run it again later")
    watcher.forget(heartbeats)
    if has_discarded_batches(failures):
        raise MoveBackError("Lambda has discarded batches: run daicho redrive first")
