"""Deletes all that the table has of disabled instances, and proves that nothing is left (rule 34).

A pass scans the whole table. The first one begins at once, unless a rebuild is running: that one
has priority. The next one waits until every attempt of the code before the last deployment has
ended (``settle``), because such code may still have derived the instances. A pass that began after
that, reads consistently and finds nothing is the proof. Then the backfill items list the instances
as purged.

Nothing leaves a tombstone: no code derives the instances any more, so no late record can restore
them. For the same reason deletions need no condition. Base items are not written.

If a step is killed, the next one continues from the job's item. A page that is read again has only
what was not deleted.
"""

from __future__ import annotations

from daicho.jobs.lease import is_under_way
from daicho.jobs.step import JobStep
from daicho.layout.backfill_state import purge_update, render_instance
from daicho.rebuild.purge_job import PurgeJob, choose_instances, list_unpurged
from daicho.rebuild.purged_items import estimate_units, is_item_of, select_items_of
from daicho.rebuild.requests import find_job
from daicho.rebuild.table_step import (
    BLOCKED_WAIT_S,
    DEPLOYMENT_WAIT_S,
    TableDependencies,
    TableStep,
)
from daicho.release.states import read_stage_states
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.storage.attributes import get_key
from daicho.storage.parallel_scan import ScanRound
from daicho.storage.protocols import try_update
from daicho.storage.requests import ItemPage
from daicho.tenants.item_remover import WRITES_PER_REQUEST

REBUILD_WAIT_S = 120
"""The pause before a purge looks again whether a rebuild is over, in seconds. A state machine has
2,700 steps, and a rebuild of a large table takes days."""


class PurgeStep(TableStep[PurgeJob]):
    """One step of a purge."""

    def __init__(self, on: TableDependencies, job: PurgeJob, retry_budget: RetryBudget) -> None:
        super().__init__(on, job, retry_budget)
        self._written = RateLimiter(job.rate)

    def run(self) -> JobStep:
        """Continue the pass, or wait for what has to be over before it."""
        job, on = self.job, self.on
        job.state, job.waits, job.reason = "running", "", ""
        if (waiting := self._follow_release()) is not None:
            return waiting
        if not job.began:
            job.began, job.seen, job.segments = keys.render_instant(on.now()), 0, None
            self.save()
        if not self._delete_items():
            self.save()
            return JobStep(done=False)
        job.total = job.seen
        if job.passes > 1 and job.finding_pass < job.passes:
            return self._finish()
        found_more = job.passes > 1
        job.passes, job.began, job.segments = job.passes + 1, "", None
        # An attempt of older code wrote meanwhile: others may still.
        return self.wait(min(on.settle, BLOCKED_WAIT_S) if found_more else 0)

    def _follow_release(self) -> JobStep | None:
        """Wait for a rebuild, a deployment, or the end of what ran before it."""
        job, on = self.job, self.on
        for entity, instances in job.instances.items():
            disabled = set(map(render_instance, on.ledger.list_disabled(entity)))
            if not disabled.issuperset(instances):
                return self.block("this function has an older lock file")
        rebuild = find_job(on.store)
        if rebuild is not None and rebuild.state == "running" and is_under_way(rebuild, on.now()):
            job.reason = "a rebuild has priority"
            return self.wait(min(on.settle, REBUILD_WAIT_S))
        return self.wait_for_deployment()

    def _delete_items(self) -> bool:
        """Scan and delete; whether the pass is at its end."""
        job = self.job

        def count(scan_round: ScanRound[int]) -> dict[str, float]:
            job.seen += scan_round.scanned
            return {"deleted": sum(scan_round.results)}

        # The first pass proves nothing, so it may use reads that cost half as much.
        scan = select_items_of(job.instances, consistent=job.passes > 1)
        return self.scan(scan, self._delete_page, count)

    def _delete_page(self, page: ItemPage) -> int:
        """Delete what a page has of the instances; returns the number of items."""
        images = [image for image in page.items if is_item_of(self.job.instances, image)]
        if images:
            self.record_finding()
        for begin in range(0, len(images), WRITES_PER_REQUEST):
            some = images[begin : begin + WRITES_PER_REQUEST]
            self._written.wait(sum(map(estimate_units, some)))
            self.on.store.batch_write(deletes=[get_key(image) for image in some])
        return len(images)

    def _finish(self) -> JobStep:
        """Record what is purged. What another release disabled meanwhile is purged then."""
        job, on = self.job, self.on
        for entity, instances in job.instances.items():
            state = self.find_state(entity)
            if state is None:
                continue
            if not try_update(on.store, purge_update(state, instances)):
                return self.wait(DEPLOYMENT_WAIT_S)
        if more := list_unpurged(on.ledger, read_stage_states(on.store).states):
            job.instances = choose_instances(more)
            job.passes, job.finding_pass, job.began, job.segments = 1, 0, "", None
            return self.wait(0)
        job.state, job.finished_at = "succeeded", keys.render_instant(on.now())
        self.save()
        return JobStep(done=True)
