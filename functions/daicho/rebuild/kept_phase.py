"""The phase of a rebuild that completes kept parts: after the proving pass, before the switch."""

from __future__ import annotations

import datetime as dt

from daicho.jobs.step import SAVE_INTERVAL, JobStep
from daicho.layout.backfill_state import BackfillState, is_complete, render_instance
from daicho.rebuild.job import MAX_NAMED, RebuildJob
from daicho.rebuild.kept_amounts import Instance
from daicho.rebuild.kept_parts import FillReport, KeptParts
from daicho.rebuild.rolled_up import find_dirty_tally, render_tally_prefix
from daicho.rebuild.table_step import TableStep
from daicho.rebuild.touches import list_lacking
from daicho.runtime.rate_limit import RateLimiter
from daicho.storage import keys
from daicho.stream.heartbeat_watcher import HeartbeatRun

ROLLUP_WAIT_S = 15
"""The pause before totals are looked at, in seconds: the index shows marks of slots by then."""


class KeptPhase:
    """The phase, in one step of a rebuild."""

    def __init__(self, step: TableStep[RebuildJob], written: RateLimiter) -> None:
        """``written`` limits write units a second."""
        self._step, self._job, self._parts = (
            step,
            step.job,
            KeptParts(step.on, step.budget, written),
        )

    def wait_for_archiver(self, run: str) -> str:
        """Wait until the archiver has passed the heartbeats of a run, or time is over.

        A failed batch of the archiver is in the failure bucket afterwards, so that bucket is
        checked next. Returns what it still waits for; empty if for nothing.
        """
        entities = tuple(self._list_filled())
        if not entities:
            return ""
        watcher, heartbeats = self._parts.watcher, HeartbeatRun(run, entities)
        progress = watcher.watch(heartbeats, self._step.budget)
        if not progress.has_passed:
            return f"archive: {progress}"
        watcher.forget(heartbeats)
        return ""

    def begin(self) -> None:
        """Begin the phase: the archive is read from its start."""
        job = self._job
        job.phase, job.filled_behind, job.filled_at = "fill", "", ""

    def fill(self) -> JobStep | None:
        """Add the archived rows behind the job's position to what lacks them.

        Returns None when the phase is over: the totals of new aggregates include the rows, and what
        touches have counted. A reader of a total would otherwise get a figure that lacks them.

        Raises:
            StoreError: a store fails; the next step continues.
        """
        step, job, now = self._step, self._job, self._step.on.now
        report, saved = FillReport(job.filled_behind), now()
        for report in self._parts.fill(self._list_filled(), job.filled_behind):
            self._record(report)
            if now() >= saved + SAVE_INTERVAL:
                step.save()
                saved = now()
        step.save()
        for name, error in report.broken.items():
            return step.block(f"{name} of the archive cannot be read: {error}")
        if not report.finished:
            job.reason = ""
            return step.wait(0)
        if job.left and not job.without:
            return step.block(
                f"{len(job.left)} archived rows cannot be derived by the new generation: daicho "
                "rebuild --status names them. Accept that aggregates lack them by --without"
            )
        return self._wait_for_totals()

    def _wait_for_totals(self) -> JobStep | None:
        """Wait until the totals of new aggregates include what the stream has counted in them."""
        step, job, on = self._step, self._job, self._step.on
        built = {entity: self._list_built(entity) for entity in job.targets}
        if not any(built.values()):
            return None
        if not job.filled_at:
            job.filled_at, job.reason = keys.render_instant(on.now()), "totals are rolled up"
            return step.wait(ROLLUP_WAIT_S)
        prefixes = [
            render_tally_prefix(entity, *each) for entity in built for each in built[entity]
        ]
        until = dt.datetime.fromisoformat(job.filled_at)
        tally = find_dirty_tally(on.store, on.dirty_shards, prefixes, until)
        if tally is None:
            return None
        job.reason = f"{tally} waits for its rollup"
        return step.wait(ROLLUP_WAIT_S)

    def record_lacking(self, state: BackfillState) -> frozenset[str]:
        """The instances that lack expired items although the phase is over; the job names them."""
        completed = map(render_instance, self._parts.list_completable(state))
        lacking = list_lacking(state, self._step.on.ledger).difference(completed)
        if lacking:
            self._job.reason = (
                f"{', '.join(sorted(lacking))} of {state.entity} cannot become complete, because "
                'items expired without the archive: declare on_expiry="subtract"'
            )
        return lacking

    def _list_built(self, entity: str) -> list[Instance]:
        """The aggregates of an entity that no reader uses yet."""
        state, ledger = self._step.read_state(entity), self._step.on.ledger
        aggregates = ledger.newest_generation(entity).plan.derived_aggregates
        instances = [(aggregate.name, aggregate.since) for aggregate in aggregates]
        return [each for each in instances if not is_complete(each, state, ledger)]

    def _list_filled(self) -> dict[str, frozenset[Instance]]:
        return self._parts.list_filled(map(self._step.read_state, self._job.targets))

    def _record(self, report: FillReport) -> None:
        job = self._job
        job.filled_behind = report.position
        if report.rows:
            job.filled_at = ""
            job.add_counts(archived_rows=report.rows)
        for row, reason in report.left.items():
            if len(job.left) < MAX_NAMED:
                job.left[row] = reason
