"""Deleting a tenant: pass after pass, until one that began after the last writer finds nothing.

A pass goes through the whole table, the objects, the failure bucket and the list of recounts. The
first one begins when the tenant is closed; each further one waits until whatever could still be
writing for the tenant has come to its end (``settle``): requests that were let in before, batches
of the projector, a rollup, a redrive, an upload by a presigned URL. What the first pass leaves to
the projector it has done by then, and the second finds what it does not do. The pass that finds
nothing but tombstones is the proof. Then, if that was wished, the tenant's archived rows are asked
to be forgotten (`daicho.archive.forget_schedule`).

Killed anywhere, the next step goes on from the job's item. That a pass has found something is
written down before anything of it is removed: else the rest of it might pass for the proof.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol

from daicho.archive import forget_requests
from daicho.errors import StoreError
from daicho.runtime.rate_limit import Pace
from daicho.runtime.retry import Patience
from daicho.runtime.settings import Settings
from daicho.storage import keys
from daicho.storage.capacity import Units
from daicho.storage.item_key import key_of
from daicho.storage.parallel_scan import ParallelScan, Round, Segments
from daicho.storage.protocols import Pages, Scans, Version, try_change
from daicho.storage.requests import Query
from daicho.stream.recount_list import LIST
from daicho.tenants.failure_payloads import Objects as Failures
from daicho.tenants.failure_payloads import Payloads
from daicho.tenants.failure_payloads import Store as ClaimStore
from daicho.tenants.item_remover import Removed, Remover, of_tenant
from daicho.tenants.item_remover import Store as ItemStore
from daicho.tenants.jobs import PHASES, Job, Jobs

SAVED_EVERY = dt.timedelta(seconds=5)
"""What is done twice at most after a cut."""
VERSIONS_AT_ONCE = 1_000
MOST_AT_ONCE = 4
"""Segments: each of their pages is some thousands of items to remove."""
WRITES_A_SECOND = 1_000
_log = logging.getLogger(__name__)


class Store(ItemStore, ClaimStore, Scans, Pages, Protocol):
    """What this needs of the table. ``units`` count what its requests take."""

    @property
    def units(self) -> Units:
        """What was taken since they were asked last."""


@dataclass(frozen=True)
class Step:
    """What a step says to whoever drives them: whether all is done, or how long to wait."""

    done: bool
    wait: int = 0

    def to_json(self) -> dict[str, object]:
        """As the state machine reads it."""
        return {"done": self.done, "wait": self.wait}


@dataclass(frozen=True)
class Deleting:
    """Everything that it stands on.

    ``objects``: the bucket of the tenants' own objects, by ``tenant/``; None if there is none.
    ``settle``: seconds. ``segments``: into how many the table is cut; ``at_once`` are worked on.
    ``read`` and ``written`` bound units and items a second.
    """

    store: Store
    failures: Failures
    objects: Failures | None
    jobs: Jobs
    now: Callable[[], dt.datetime]
    settle: int
    segments: int = 32
    at_once: int = 4
    read: Pace = field(default_factory=lambda: Pace(None))
    written: Pace = field(default_factory=lambda: Pace(None))

    @classmethod
    def of(
        cls,
        settings: Settings,
        store: Store,
        failures: Failures,
        objects: Failures | None,
        *,
        threads: int,
        now: Callable[[], dt.datetime],
    ) -> Deleting:
        """That of a deployed stack."""
        return cls(
            store,
            failures,
            objects,
            Jobs(store, now),
            now,
            settle=settings.settle_seconds,
            at_once=min(MOST_AT_ONCE, threads),
            read=Pace(settings.scan_units),
            written=Pace(WRITES_A_SECOND),
        )

    def step(self, tenant: str, id: str, patience: Patience) -> Step:
        """Do as much as there is time for.

        Raises:
            StoreError: a store does not do it; the next step goes on.
        """
        job = self.jobs.find(tenant, id)
        if job is None or job.state == "succeeded":
            return Step(done=True)
        if (left := self._left_to_wait(job)) > 0:
            return Step(done=False, wait=left)
        return _Deletion(self, job, patience).go_on()

    def fail(self, tenant: str, id: str, why: str) -> None:
        """Write down that nobody works on a job any more; asked for again, it goes on."""
        job = self.jobs.find(tenant, id)
        if job is not None and job.state == "running":
            job.state, job.error = "failed", why[:1000]
            self.jobs.save(job)

    def _left_to_wait(self, job: Job) -> int:
        if not job.waits:
            return 0
        left = dt.datetime.fromisoformat(job.waits) - self.now()
        return max(0, -int(-left.total_seconds() // 1))


class _Deletion:
    """One step of a deletion."""

    def __init__(self, on: Deleting, job: Job, patience: Patience) -> None:
        self._on, self._job, self._patience = on, job, patience
        self._saved = on.now()
        self._lock = Lock()

    def go_on(self) -> Step:
        """Phase after phase, as far as there is time, or up to a wait."""
        job = self._job
        job.state, job.waits = "running", ""
        job.began = job.began or keys.instant(self._on.now())
        phases = {
            "items": self._items,
            "objects": self._objects,
            "payloads": self._payloads,
            "recounts": self._recounts,
        }
        while phases[job.phase]():
            job.segments, job.behind = None, ""
            place = PHASES.index(job.phase) + 1
            if place == len(PHASES):
                return self._end_of_pass()
            job.phase = PHASES[place]
            self._save()
            if not self._patience.lasts:
                break
        self._save()
        return Step(done=False)

    def _end_of_pass(self) -> Step:
        job, now = self._job, self._on.now()
        job.phase = PHASES[0]
        # The first pass began before the last writers were through.
        if job.passes > 1 and job.found < job.passes:
            if job.archive == "forget":
                # All that was ever deleted of it by TTL: nothing is left that could be.
                try_change(self._on.store, forget_requests.asking(job.tenant, now, again=now))
            job.state, job.finished_at = "succeeded", keys.instant(now)
            self._save()
            return Step(done=True)
        job.passes, job.began, job.seen = job.passes + 1, "", {}
        job.waits = keys.instant(now + dt.timedelta(seconds=self._on.settle))
        self._save()
        return Step(done=False, wait=self._on.settle)

    # --- Phases: each says whether it came to its end -----------------------------------------

    def _items(self) -> bool:
        on, job = self._on, self._job
        position = Segments.from_json(job.segments) if job.segments else Segments.of(on.segments)
        first = job.passes == 1
        remover = Remover(on.store, self._note, on.now, fences=not first, pace=on.written)

        def done(found: Round[Removed]) -> None:
            job.segments = position.to_json()
            read, written = on.store.units.taken()
            job.count(
                items=sum(each.gone for each in found.made),
                fenced=sum(each.fenced for each in found.made),
                tombstones=sum(each.tombstones for each in found.made),
                waiting=sum(each.waiting for each in found.made),
                looked_at=found.scanned,
                read_units=read,
                write_units=written,
            )
            self._save_now_and_then()

        # The first pass proves nothing, so it may read what is half as dear.
        scan = of_tenant(job.tenant, consistent=not first)
        return ParallelScan(on.store, scan, remover, on.at_once, on.read).run(
            position, self._patience, done
        )

    def _objects(self) -> bool:
        if self._on.objects is None:
            return True
        batch: list[Version] = []
        for each in self._on.objects.versions(f"{self._job.tenant}/"):
            batch.append(each)
            if len(batch) == VERSIONS_AT_ONCE:
                if not self._patience.lasts:
                    return False
                self._remove_objects(self._on.objects, batch)
                batch = []
        self._remove_objects(self._on.objects, batch)
        return True

    def _remove_objects(self, objects: Failures, batch: Sequence[Version]) -> None:
        if batch:
            self._note()
            objects.remove_versions(batch)
            self._job.count(objects=sum(not each.removal for each in batch))
            self._save_now_and_then()

    def _payloads(self) -> bool:
        job, on = self._job, self._on
        payloads = Payloads(on.store, on.failures, job.tenant, self._note, on.now)
        for name, versions in payloads.names(job.behind):
            if not self._patience.lasts:
                return False
            if records := payloads.remove(name, versions):
                job.count(payloads=records)
            job.behind = name
            self._save_now_and_then()
        return True

    def _recounts(self) -> bool:
        query = Query(LIST, prefix=keys.prefix(self._job.tenant), consistent=True)
        for page in self._on.store.pages(query):
            if page.items:
                self._note()
                self._on.store.batch_write(deletes=[key_of(item) for item in page.items])
                self._job.count(recounts=len(page.items))
        return True

    # --- The job's item -----------------------------------------------------------------------

    def _note(self) -> None:
        """Write down that this pass has found something, before any of it is removed."""
        with self._lock:
            before, self._job.found = self._job.found, self._job.passes
            if before < self._job.passes:
                try:
                    self._save()
                except StoreError:
                    self._job.found = before
                    raise

    def _save_now_and_then(self) -> None:
        if self._on.now() >= self._saved + SAVED_EVERY:
            self._save()

    def _save(self) -> None:
        self._on.jobs.save(self._job)
        self._saved = self._on.now()
