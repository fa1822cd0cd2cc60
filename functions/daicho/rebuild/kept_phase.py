"""The phase of a rebuild that completes kept parts: after the proving pass, before the switch."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from daicho.jobs.step import SAVE_INTERVAL
from daicho.layout.backfill_state import BackfillState, is_complete, render_instance
from daicho.rebuild.job import MAX_NAMED, RebuildJob
from daicho.rebuild.kept_amounts import Instance
from daicho.rebuild.kept_parts import FillReport, KeptParts
from daicho.rebuild.rolled_up import find_dirty_tally, render_tally_prefix
from daicho.rebuild.touches import list_lacking
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.stream.heartbeat_watcher import HeartbeatRun

ROLLUP_WAIT_S = 15
"""The pause before totals are looked at, in seconds: the index shows marks of slots by then."""


@dataclass(frozen=True)
class FillOutcome:
    """How far the phase is.

    ``blocked``: why it cannot continue; empty if it can. ``waiting``: what it waits for, and
    ``wait``: after how many seconds it looks again.
    """

    finished: bool
    blocked: str = ""
    waiting: str = ""
    wait: int = 0


class KeptPhase:
    """The phase, in one step of a rebuild.

    ``read_state`` reads the backfill item of an entity, and ``save`` saves the job.
    """

    def __init__(
        self,
        parts: KeptParts,
        job: RebuildJob,
        read_state: Callable[[str], BackfillState],
        save: Callable[[], None],
    ) -> None:
        self._parts, self._job, self._read_state, self._save = parts, job, read_state, save

    def wait_for_archiver(self, run: str, retry_budget: RetryBudget) -> str:
        """Wait until the archiver has passed the heartbeats of a run, or time is over.

        A failed batch of the archiver is in the failure bucket afterwards, so that bucket is
        checked next. Returns what it still waits for; empty if for nothing.
        """
        entities = tuple(self._list_filled())
        if not entities:
            return ""
        watcher, heartbeats = self._parts.watcher, HeartbeatRun(run, entities)
        progress = watcher.watch(heartbeats, retry_budget)
        if not progress.has_passed:
            return f"archive: {progress}"
        watcher.forget(heartbeats)
        return ""

    def begin(self) -> None:
        """Begin the phase: the archive is read from its start."""
        job = self._job
        job.phase, job.filled_behind, job.filled_at = "fill", "", ""

    def fill(self, retry_budget: RetryBudget) -> FillOutcome:
        """Add the archived rows behind the job's position to what lacks them.

        It is finished when the totals of new aggregates include the rows, and what touches have
        counted. A reader of a total would otherwise get a figure that lacks them.

        Raises:
            StoreError: a store fails; the next step continues.
        """
        job, now = self._job, self._parts.on.now
        report, saved = FillReport(job.filled_behind), now()
        for report in self._parts.fill(self._list_filled(), job.filled_behind, retry_budget):
            self._record(report)
            if now() >= saved + SAVE_INTERVAL:
                self._save()
                saved = now()
        self._save()
        for name, error in report.broken.items():
            return FillOutcome(False, f"{name} of the archive cannot be read: {error}")
        if report.finished and job.left and not job.without:
            return FillOutcome(
                False,
                f"{len(job.left)} archived rows cannot be derived by the new generation: daicho "
                "rebuild --status names them. Accept that aggregates lack them by --without",
            )
        if not report.finished:
            return FillOutcome(finished=False)
        return self._wait_for_totals()

    def _wait_for_totals(self) -> FillOutcome:
        """Wait until the totals of new aggregates include what the stream has counted in them."""
        job, on = self._job, self._parts.on
        built = {entity: self._list_built(entity) for entity in job.targets}
        if not any(built.values()):
            return FillOutcome(finished=True)
        if not job.filled_at:
            job.filled_at = keys.render_instant(on.now())
            return FillOutcome(False, waiting="totals are rolled up", wait=ROLLUP_WAIT_S)
        prefixes = [
            render_tally_prefix(entity, *each) for entity in built for each in built[entity]
        ]
        until = dt.datetime.fromisoformat(job.filled_at)
        tally = find_dirty_tally(on.store, on.dirty_shards, prefixes, until)
        if tally is None:
            return FillOutcome(True)
        return FillOutcome(False, waiting=f"{tally} waits for its rollup", wait=ROLLUP_WAIT_S)

    def record_lacking(self, state: BackfillState) -> frozenset[str]:
        """The instances that lack expired items although the phase is over; the job names them."""
        completed = map(render_instance, self._parts.list_completable(state))
        lacking = list_lacking(state, self._parts.on.ledger).difference(completed)
        if lacking:
            self._job.reason = (
                f"{', '.join(sorted(lacking))} of {state.entity} cannot become complete, because "
                'items expired without the archive: declare on_expiry="subtract"'
            )
        return lacking

    def _list_built(self, entity: str) -> list[Instance]:
        """The aggregates of an entity that no reader uses yet."""
        state, ledger = self._read_state(entity), self._parts.on.ledger
        aggregates = ledger.newest_generation(entity).plan.derived_aggregates
        instances = [(aggregate.name, aggregate.since) for aggregate in aggregates]
        return [each for each in instances if not is_complete(each, state, ledger)]

    def _list_filled(self) -> dict[str, frozenset[Instance]]:
        return self._parts.list_filled(map(self._read_state, self._job.targets))

    def _record(self, report: FillReport) -> None:
        job = self._job
        job.filled_behind = report.position
        if report.rows:
            job.filled_at = ""
            job.add_counts(archived_rows=report.rows)
        for row, reason in report.left.items():
            if len(job.left) < MAX_NAMED:
                job.left[row] = reason
