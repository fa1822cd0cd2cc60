"""Touches every item of older generations, proves that none is left, and then switches readers.

A pass scans the whole table. The first one begins at once. The next one waits until every writer of
older code that was running when the rebuild was requested has ended (``settle``). Code that was
rolled back announces what it writes; such an announcement makes another pass necessary. A pass that
reads consistently and finds nothing is the proof that no item of an older generation is left
(rule 30). Then heartbeats go through every shard, so the projector has handled all touches (rule
31). If no record of the entities is set aside (rule 32), archived rows are added to aggregates that
keep what expired (rule 33). Then the backfill items get the new generation as the oldest one, and
readers choose the new instances.

If a step is killed, the next one continues from the job's item. A page that is read again finds
only what was not touched.
"""

from __future__ import annotations

import math
from dataclasses import replace

from daicho.jobs.step import SAVE_INTERVAL, JobStep
from daicho.layout.backfill_state import complete_update, progress_update
from daicho.plan import NewerGenerationError
from daicho.rebuild.job import MAX_NAMED, RebuildJob, SpeedMeter
from daicho.rebuild.kept_phase import KeptPhase
from daicho.rebuild.obstacles import find_obstacles
from daicho.rebuild.page_touch import PageCounts, PageTouch
from daicho.rebuild.recounts import remove_replaced_recounts
from daicho.rebuild.table_step import (
    BLOCKED_WAIT_S,
    DEPLOYMENT_WAIT_S,
    TableDependencies,
    TableStep,
)
from daicho.rebuild.touches import select_older_items
from daicho.release.older_writers import LEASE_S
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.storage.parallel_scan import ScanRound
from daicho.storage.protocols import try_update
from daicho.storage.requests import Scan
from daicho.stream.heartbeat_watcher import HeartbeatRun, HeartbeatWatcher

OLDER_LOCK_FILE = "this function has an older lock file than the stage"
QUIET_S = LEASE_S + 31.0
"""Longer than an announcement of older writers is valid and a request takes, in seconds."""


class RebuildStep(TableStep[RebuildJob]):
    """One step of a rebuild."""

    def __init__(self, on: TableDependencies, job: RebuildJob, retry_budget: RetryBudget) -> None:
        super().__init__(on, job, retry_budget)
        self._shown = on.now()
        self._limiter = RateLimiter(job.rate, effective=job.effective_rate or None)
        self._page_touch = PageTouch(
            store=on.store,
            ledger=on.ledger,
            targets=job.targets,
            now=on.now,
            limiter=self._limiter,
            retry_budget=retry_budget,
            record_finding=self.record_finding,
        )
        self._speed = SpeedMeter(on.now)
        self._kept = KeptPhase(self, self._limiter)

    def run(self) -> JobStep:
        """Continue the pass or its proof."""
        job = self.job
        job.state, job.waits, job.reason = "running", "", ""
        if (waiting := self._follow_release()) is not None:
            return waiting
        if job.phase == "touch":
            if not job.began:
                self._begin_pass()
            if not self._touch_items():
                self.save()
                return JobStep(done=False)
            return self._finish_pass()
        return self._prove() if job.phase == "prove" else self._fill_kept_parts()

    def _follow_release(self) -> JobStep | None:
        """Begin again with newer generations, if a release came meanwhile.

        Items get only a generation that was released: until then, an earlier ledger may come back.
        A function whose ledger is not released yet waits.
        """
        job, ledger = self.job, self.on.ledger
        newest = {entity: self.read_state(entity).newest for entity in job.targets}
        known = {entity: ledger.newest_generation(entity).number for entity in newest}
        if any(known[entity] < newest[entity] for entity in newest):
            return self.block(OLDER_LOCK_FILE)
        if known != newest:
            # Archived rows would be added to what is not released: a restore may not know of it.
            job.reason = "a deployment is under way"
            return self.wait(DEPLOYMENT_WAIT_S)
        if lost := ledger.find_lost_migration(newest):
            return self.block(lost)
        if newest != job.targets:
            job.targets = newest
            return self._restart()
        return self.wait_for_deployment()

    def _restart(self) -> JobStep:
        """Begin another pass, after all that older code may have sent before has been written.

        Code that writes an older generation announces it. If none does from now until the end of
        the pass, the pass finds whatever older code has written.
        """
        job, on = self.job, self.on
        job.phase, job.passes = "touch", job.passes + 1
        job.began, job.segments, job.seen, job.items_per_second = "", None, 0, 0.0
        job.older_seen = {entity: self.read_state(entity).older_seen for entity in job.targets}
        return self.wait(math.ceil(min(on.settle, QUIET_S)))

    # --- Touching -----------------------------------------------------------------------------

    def _begin_pass(self) -> None:
        job, on = self.job, self.on
        job.began, job.seen, job.segments, job.left = keys.render_instant(on.now()), 0, None, {}
        job.taken = 0
        self.save()

    def _touch_items(self) -> bool:
        """Scan and touch; whether the pass is at its end."""
        job = self.job

        def count(scan_round: ScanRound[PageCounts]) -> dict[str, float]:
            job.seen += scan_round.scanned
            for counts in scan_round.results:
                job.taken += counts.taken
                for item, reason in counts.left.items():
                    if len(job.left) < MAX_NAMED:
                        job.left[item] = reason
            return {"touched": sum(counts.touched for counts in scan_round.results)}

        self._speed.begin(job)
        return self.scan(self._select_items(), self._page_touch.run, count)

    def _select_items(self) -> Scan:
        """The scan of the pass."""
        # The first pass proves nothing, so it may use reads that cost half as much.
        return select_older_items(self.job.targets, consistent=self.job.passes > 1)

    def save_round(self) -> None:
        """Save the job: a round is all that is repeated if this function is killed."""
        self.job.effective_rate = self._limiter.effective or self.job.rate
        self._speed.measure(self.job)
        self.save()
        if self.on.now() >= self._shown + SAVE_INTERVAL:
            self._show_progress()

    def _finish_pass(self) -> JobStep:
        job = self.job
        job.total = job.seen
        if job.passes > 1 and job.finding_pass < job.passes:
            job.phase = "prove"
            self.save()
            return JobStep(done=False)
        return self._restart()

    # --- Proving ------------------------------------------------------------------------------

    def _prove(self) -> JobStep:
        job, on = self.job, self.on
        if job.left and (not job.without or job.taken):
            reason = _describe_left(job)
            step = self._restart()
            job.state, job.reason = "blocked", reason
            self.save()
            return JobStep(done=False, wait=max(step.wait, BLOCKED_WAIT_S), blocked=True)
        entities = tuple(job.targets)
        watcher = HeartbeatWatcher(on.store, on.stream, now=on.now)
        run = self._name_heartbeats()
        progress = watcher.watch(run, self.budget)
        waiting = "" if progress.has_passed else str(progress)
        if waiting := waiting or self._kept.wait_for_archiver(run.id):
            job.reason = waiting
            self.save()
            return JobStep(done=False)
        if obstacles := find_obstacles(on, entities):
            return self.block("; ".join(obstacles))
        watcher.forget(run)
        self._kept.begin()
        return self._fill_kept_parts()

    def _name_heartbeats(self) -> HeartbeatRun:
        """The heartbeats of this pass. No filter passes one of an entity that derives nothing."""
        job, types = self.job, self.on.ledger.derived_types
        derived = tuple(each for each in job.targets if each in types)
        return HeartbeatRun(f"{job.machine_input['job']}-{job.passes}", derived)

    def _fill_kept_parts(self) -> JobStep:
        """Complete aggregates that keep what expired; then switch the readers."""
        job, on = self.job, self.on
        try:
            step = self._kept.fill()
        except NewerGenerationError:  # a release came meanwhile, and its rows are archived
            return self.block(OLDER_LOCK_FILE)
        if step is not None:
            return step
        if {self._complete(entity) for entity in job.targets} != {True}:
            # Older code wrote meanwhile, or another deployment came.
            return self._restart()
        remove_replaced_recounts(on.store, on.ledger, tuple(job.targets))
        job.state, job.finished_at = "succeeded", keys.render_instant(on.now())
        self.save()
        return JobStep(done=True)

    def _complete(self, entity: str) -> bool:
        """Switch the readers of an entity; False if it has to be touched again."""
        job = self.job
        generation = job.targets[entity]
        state = self.read_state(entity)
        lacking = self._kept.record_lacking(state)
        if state.oldest >= generation and state.lacking == lacking:
            return True
        began = replace(state, older_seen=job.older_seen[entity])
        return try_update(self.on.store, complete_update(began, generation, lacking, self.on.now()))

    # --- The job's item -----------------------------------------------------------------------

    def _show_progress(self) -> None:
        """Let readers say in a 503 how far the rebuild is."""
        self._shown = self.on.now()
        for entity in self.job.targets:
            try_update(self.on.store, progress_update(entity, self.job.percent))


def _describe_left(job: RebuildJob) -> str:
    if job.taken:
        return (
            f"{job.taken} items have a unique value that another item has: daicho rebuild --status "
            "names them. Change or delete one of each two; --without does not accept them"
        )
    return (
        f"{len(job.left)} items cannot be derived by the new generation: daicho rebuild --status "
        "names them. Correct them, or accept that lists lack them by --without"
    )
