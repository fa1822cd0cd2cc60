"""Deletes a tenant in passes, until a pass that began after the last writer finds nothing.

A pass goes through the whole table, the objects, the failure bucket and the list of recounts. The
first pass begins when the tenant is closed. Each further pass waits until every process that may
still write for the tenant has ended (``settle``): requests that were admitted before, batches of
the projector, a rollup, a redrive, an upload by a presigned URL. By then the projector has done
the work that the first pass left to it, and the second pass removes the rest. The pass that finds
nothing but tombstones is the proof. Then, if requested, the tenant's archived rows are forgotten
(`daicho.archive.forgetter`).

If a step is killed, the next one continues from the job's item. The job records that a pass has
found something before anything is removed. Otherwise the rest of that pass could count as proof.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from daicho.archive import forget_requests
from daicho.jobs.pass_step import MAX_PARALLELISM, PassDependencies, PassStep
from daicho.jobs.step import JobStep
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget
from daicho.runtime.settings import Settings
from daicho.storage import keys
from daicho.storage.attributes import get_key
from daicho.storage.bucket import Bucket
from daicho.storage.parallel_scan import ScanRound
from daicho.storage.protocols import try_update
from daicho.storage.requests import Query
from daicho.storage.table import Table
from daicho.stream.recount_list import LIST
from daicho.tenants.deletion_job import PHASES, DeletionJob, find_deletion
from daicho.tenants.failed_records import FailedRecordRemover
from daicho.tenants.item_remover import ItemRemover, is_of_tenant

UPLOAD_MARGIN_S = 40
"""A URL is signed at most so long after a tenant is closed: an instance serves the tenant for 5
more seconds, and a request takes at most 29."""
VERSIONS_PER_REQUEST = 1_000
WRITES_PER_SECOND = 1_000
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class DeletionWorker(PassDependencies):
    """The dependencies of a deletion.

    ``objects``: the bucket of the tenants' own objects, by ``tenant/``; None if there is none.
    ``uploads``: seconds at least before the second pass, when every upload URL has expired.
    ``written`` limits items written a second.
    """

    failures: Bucket
    objects: Bucket | None
    uploads: int
    written: RateLimiter

    @classmethod
    def build(
        cls,
        settings: Settings,
        store: Table,
        failures: Bucket,
        objects: Bucket | None,
        *,
        threads: int,
        now: Callable[[], dt.datetime],
    ) -> DeletionWorker:
        """Build the deletion job of a deployed stack."""
        return cls(
            store=store,
            failures=failures,
            objects=objects,
            now=now,
            settle=settings.settle_seconds,
            uploads=settings.upload_seconds + UPLOAD_MARGIN_S if objects else 0,
            parallelism=min(MAX_PARALLELISM, threads),
            read=RateLimiter(settings.scan_units),
            written=RateLimiter(WRITES_PER_SECOND),
        )

    def run_step(self, tenant: str, id: str, retry_budget: RetryBudget) -> JobStep:
        """Do as much work as there is time for.

        Raises:
            StoreError: a store fails; the next step continues.
        """
        job = find_deletion(self.store, tenant, id)
        if job is None or job.state == "succeeded":
            return JobStep(done=True)
        if job.finished_at:  # it was done, and only the archive is left
            return _Deletion(self, job, retry_budget).finish()
        if (wait := job.compute_wait(self.now())) > 0:
            return JobStep(done=False, wait=wait)
        return _Deletion(self, job, retry_budget).run_phases()

    def fail_job(self, tenant: str, id: str, reason: str) -> None:
        """Record that nobody works on a job any more. A new request continues it."""
        job = find_deletion(self.store, tenant, id)
        if job is not None and job.state == "running":
            job.state, job.error = "failed", reason[:1000]
            self.jobs.save(job)

    def compute_pause(self, passes: int) -> int:
        """The seconds after so many passes. The first one began after the tenant was closed."""
        return max(self.settle, self.uploads) if passes == 1 else self.settle


class _Deletion(PassStep[DeletionWorker, DeletionJob]):
    """One step of a deletion."""

    def run_phases(self) -> JobStep:
        """Run the phases in order, as far as there is time, or up to a wait."""
        job = self.job
        job.state, job.waits = "running", ""
        job.began = job.began or keys.render_instant(self.on.now())
        phases = {
            "items": self._remove_items,
            "objects": self._remove_all_objects,
            "payloads": self._remove_payloads,
            "recounts": self._remove_recounts,
        }
        while phases[job.phase]():
            job.segments, job.behind = None, ""
            next_phase = PHASES.index(job.phase) + 1
            if next_phase == len(PHASES):
                return self._finish_pass()
            job.phase = PHASES[next_phase]
            self.save()
            if not self.budget.has_time_left:
                break
        self.save()
        return JobStep(done=False)

    def _finish_pass(self) -> JobStep:
        job = self.job
        job.phase = PHASES[0]
        # The first pass began before the last writers were through.
        if job.passes > 1 and job.finding_pass < job.passes:
            job.finished_at = keys.render_instant(self.on.now())
            return self.finish()
        wait = self.on.compute_pause(job.passes)
        job.passes, job.began, job.seen = job.passes + 1, "", {}
        return self.wait(wait)

    def finish(self) -> JobStep:
        """Request that the archived rows are forgotten, if the job includes it; end the job."""
        job, now = self.job, self.on.now()
        if job.archive == "forget":
            # Covers all rows that TTL ever deleted: no item is left that could expire.
            try_update(self.on.store, forget_requests.request_update(job.tenant, now, again=now))
        job.state = "succeeded"
        self.save()
        return JobStep(done=True)

    # --- Phases: each returns whether it is complete ------------------------------------------

    def _remove_items(self) -> bool:
        on, job = self.on, self.job
        first = job.passes == 1
        remover = ItemRemover(
            on.store, self.record_finding, on.now, fences=not first, pace=on.written
        )

        def count(scan_round: ScanRound[Counter[str]]) -> dict[str, float]:
            counts = sum(scan_round.results, Counter[str]())
            return {**counts, "looked_at": scan_round.scanned}

        # The first pass proves nothing, so it may use reads that cost half as much.
        return self.scan(is_of_tenant(job.tenant, consistent=not first), remover, count)

    def _remove_all_objects(self) -> bool:
        objects = self.on.objects
        if objects is None:
            return True
        versions = objects.list_versions(f"{self.job.tenant}/")
        while batch := list(islice(versions, VERSIONS_PER_REQUEST)):
            if not self.budget.has_time_left:
                return False
            self.record_finding()
            objects.remove_versions(batch)
            self.job.add_counts(objects=sum(not version.removal for version in batch))
            self.save_at_intervals()
        return True

    def _remove_payloads(self) -> bool:
        job, on = self.job, self.on
        remover = FailedRecordRemover(
            on.store, on.failures, job.tenant, on.now, before_removal=self.record_finding
        )
        for name, versions in remover.list_objects(job.behind):
            if not self.budget.has_time_left:
                return False
            if records := remover.remove_all(name, versions):
                job.add_counts(payloads=records)
            job.behind = name
            self.save_at_intervals()
        return True

    def _remove_recounts(self) -> bool:
        query = Query(LIST, prefix=keys.render_prefix(self.job.tenant), consistent=True)
        for page in self.on.store.query_pages(query):
            if page.items:
                self.record_finding()
                self.on.store.batch_write(deletes=[get_key(item) for item in page.items])
                self.job.add_counts(recounts=len(page.items))
        return True
