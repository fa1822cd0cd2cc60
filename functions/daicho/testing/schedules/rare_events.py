"""Events that are rare in the profiles of any project: restores, live readings, closing shards."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import ClassVar

from daicho.archive.reader import ArchiveReader, Selection
from daicho.archive.restorer import Restorer
from daicho.handlers.wiring.invocation import make_retry_budget
from daicho.release.refusals import ReleaseRefusedError
from daicho.storage.attributes import get_key
from daicho.tally import reader
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.oracle.differences import sum_slots
from daicho.testing.oracle.stream_history import ExpiredItem, list_expired_items
from daicho.testing.schedules.event_owner import EventOwner
from daicho.testing.stack_settings import ARCHIVE_BUCKET, TABLE

RESTORE = "restore"
"""The process of a restore."""
BuildRestorer = Callable[[SimulatedProcess], Restorer]


class RareEvents(EventOwner):
    """The events, on one deployment. A profile names them by their methods.

    ``uninterrupted_share``: the share of restores that nothing overtakes.
    """

    uninterrupted_share: ClassVar[float] = 0.3

    def restore(self) -> None:
        """Restore archived items, of rows that were perhaps restored before."""
        expired = list_expired_items(self._deployment.stream)
        if not expired or self._lambda.is_crowded:
            return
        selection = self._draw_selection(self._choices.pick(list(reversed(expired))))
        over_newer = self._choices.draw_bool(0.5)
        rows = f"all of {selection.key.pk}" if selection.key is not None else "all"
        until = f" until {selection.until:%d %H:%M:%S}" if selection.until is not None else ""
        self._note(f"restore of rows begins: {rows}{until}{', over newer' * over_newer}")
        build = self._draw_restorer()

        def work(process: SimulatedProcess) -> None:
            retry_budget = make_retry_budget(process, self._deployment.build_dependencies(process))
            try:
                report = build(process).restore(
                    selection, dry_run=False, over_newer=over_newer, retry_budget=retry_budget
                )
            except ReleaseRefusedError as error:
                self._fault_counts["restore refused"] += 1
                self._note(f"restore refused: {error}")
                return
            self._fault_counts["restore"] += report.restored > 0
            if report.broken:
                self._lambda.unexpected.append(f"restore finds broken: {report.broken}")
            counts = {name: value for name, value in report.to_json().items() if value}
            self._note(f"restored: {counts}")

        if self._choices.draw_bool(0.3):  # then every row is in the archive
            self._deliver_everything()
        process = self._lambda.create_process(RESTORE, work)
        self._lambda.detached.append(process)
        if self._choices.draw_bool(self.uninterrupted_share):
            self._lambda.finish_detached(process)

    def _draw_restorer(self) -> BuildRestorer:
        """What makes the restorer of a process."""
        return self._build_restorer

    def _deliver_everything(self) -> None:
        """Deliver all records, so that every row is in the archive."""
        self._lambda.drain()

    def _build_restorer(self, process: SimulatedProcess) -> Restorer:
        dependencies = self._deployment.build_dependencies(process)
        return Restorer(
            dependencies.table(TABLE),
            ArchiveReader(dependencies.bucket(ARCHIVE_BUCKET)),
            self._deployment.entities.ledgers[process.code_version],
            threads=dependencies.parallelism,
            now=dependencies.now,
        )

    def split(self) -> None:
        """A shard of the stream closes; one or two others follow."""
        recorder = self._deployment.recorder
        shard = self._choices.pick(recorder.open_shards)
        if self._choices.draw_bool(0.5):
            self._fault_counts["split"] += 1
            self._note(f"split {shard} into {recorder.split(shard)}")
        else:
            self._fault_counts["shard rolled"] += 1
            self._note(f"{shard} is followed by {recorder.roll(shard)}")

    def tick(self) -> None:
        """Some seconds or minutes pass."""
        seconds = self._choices.pick((10, 60, 1000))
        if seconds <= self._deployment.compute_max_wait():
            self._deployment.clock.advance(seconds)

    def read(self) -> None:
        """Read the live figure of a tally, while rollups may fold its slots (rule 12)."""
        tallies = sorted({key.pk for key, _ in self._deployment.dynamodb.items if "#+" in key.pk})
        if not tallies or self._lambda.is_crowded:
            return
        tally, counting_steps = self._choices.pick(tallies), self._lambda.counting_steps
        self._fault_counts["live reading"] += 1

        def work(process: SimulatedProcess) -> None:
            before = sum_slots(self._deployment, tally)
            table = self._deployment.build_dependencies(process).table(TABLE)
            figure = reader.read_live_amount(table, tally)
            after = sum_slots(self._deployment, tally)
            self._note(f"live {tally}: {figure}, {before} before, {after} after")
            if before == after != figure and self._lambda.counting_steps == counting_steps:
                wrong = f"live reading: {tally}: {figure} instead of {after}"
                self._lambda.unexpected.append(wrong)

        self._lambda.detached.append(self._lambda.create_process("live", work))

    def _draw_selection(self, expired: ExpiredItem) -> Selection:
        """The rows of an item, all of them or without its newer ones; or the rows of every item."""
        key = get_key(expired.image)
        until = dt.datetime.fromtimestamp(expired.expired_at + 1, dt.UTC)
        return self._choices.pick(
            (Selection(key=key), Selection(key=key, until=until), Selection(until=until))
        )
