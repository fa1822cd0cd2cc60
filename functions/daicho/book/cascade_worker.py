"""Deletes an item with what refers to it, in a job, if that takes more than a request.

The job repeats the request: none of its steps leaves an item without the item that it refers to,
and one that was killed is repeated. Until the job has ended, what refers to the item is
deleted with it. An item that is created again under its key is another one, and stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from daicho.archive.closed_tenants import ClosedTenants
from daicho.book.book import Book
from daicho.declare.entity import Entity
from daicho.errors import (
    BeingBuilt,
    Conflict,
    NotFound,
    Raced,
    Refusal,
    Unfinished,
    UnreadableError,
)
from daicho.jobs.step import JobStep
from daicho.plan import Ledger
from daicho.query.access import Access
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import ItemKey, get_text
from daicho.storage.bucket import Bucket
from daicho.tenants.cascade_job import CascadeJob
from daicho.tenants.lifecycle import guard_table
from daicho.tenants.tenant_job import TenantJobWorker
from daicho.write.cascades import MAX_CASCADED
from daicho.write.field_changes import read_ref

ITEMS_PER_SECOND = 100
"""How many items of a tenant are deleted a second, each with a transaction and all that derives."""
WAIT_S = 60
"""How long to wait for the reservations of a new declaration."""


@dataclass(frozen=True)
class CascadeWorker(TenantJobWorker[CascadeJob]):
    """Works on deletions. ``open_bucket``: of the objects of items."""

    RECORD: ClassVar = CascadeJob
    ledger: Ledger
    entities: Mapping[str, type[Entity]]
    open_bucket: Callable[[], Bucket]
    sleep: Callable[[float], None]

    def run_step(self, tenant: str, name: str, retry_budget: RetryBudget) -> JobStep:
        """Delete as many items as there is time for; ``name``: in the machine's input.

        Raises:
            StoreError: a store fails; the next step continues.
        """
        job, pace = self.find(tenant, name), RateLimiter(ITEMS_PER_SECOND, sleep=self.sleep)
        while job is not None and retry_budget.has_time_left:
            pace.wait(MAX_CASCADED)
            try:
                if self._delete_some(job):
                    self.end(job)
                    return JobStep(done=True)
            except BeingBuilt:
                self.jobs.save(job)
                return JobStep(done=False, wait=WAIT_S)
            except (Refusal, UnreadableError) as refusal:
                self.end(job, refusal.detail)
                return JobStep(done=True)
            self.jobs.save(job)
        return JobStep(done=job is None)

    def _delete_some(self, job: CascadeJob) -> bool:
        """Delete what a request deletes; whether the item is gone.

        Raises:
            Refusal: a rule keeps the item, or one that refers to it; or it is no entity any more.
            UnreadableError: it, or one that refers to it, cannot be read.
        """
        image = self.store.get(ItemKey(*job.key), consistent=True)
        if image is None or get_text(image, "created_at") != job.created_at:
            return True
        if ClosedTenants(self.store).is_closed(job.tenant):
            raise Conflict("the tenant is closed: all of it is deleted")
        if job.entity not in self.entities:
            raise Conflict(f"{job.entity} is no entity any more")
        plan = self.ledger.current_generation(job.entity).plan
        book = self._open_book(job)
        try:
            book.delete(read_ref(self.entities[job.entity], plan, image))
        except (Unfinished, Raced):
            return False
        except NotFound:  # it has expired, or another request was faster
            return True
        finally:
            job.deleted += book.cascaded
        return True

    def _open_book(self, job: CascadeJob) -> Book:
        """The book of the system in the tenant. It has no bounds: a step takes minutes."""
        return Book(
            guard_table(self.store, job.tenant),
            self.ledger,
            job.tenant,
            clock=self.now,
            bucket=self.open_bucket,
            access=Access(tenant=job.tenant, actor=job.asked_by),
        )
