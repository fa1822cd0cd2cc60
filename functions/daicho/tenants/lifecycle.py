"""Tenants: checks whether one is closed, and closes one for good.

Each request reads the mark of a closed tenant. An instance caches the absence of the mark for some
seconds. So some seconds after the mark is written, only requests that were admitted before still
write for the tenant.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from ulid import ULID

from daicho.errors import ConditionFailedError, NotFound, TenantClosed, UnavailableError
from daicho.jobs.lease import JobStore, OvertakenError, is_under_way
from daicho.jobs.record import JOB_ID
from daicho.jobs.state_machine import StateMachine
from daicho.layout.tenant_items import CLOSED_CACHE_S, build_closed_mark_key
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.storage.item_cache import ItemCache
from daicho.storage.requests import Put, to_key_image
from daicho.storage.table import Table
from daicho.tenants.deletion_job import Archive, DeletionJob, find_deletion

PROVEN_FOR = dt.timedelta(days=1)
"""For this time after its end a deletion is not repeated: each pass reads the table of all."""
ATTEMPTS = 4


@dataclass(frozen=True)
class Tenants:
    """The tenants of one table. Threads may share it."""

    store: Table
    item_cache: ItemCache
    machine: StateMachine
    now: Callable[[], dt.datetime]

    def check_open(self, tenant: str) -> None:
        """Let a request of a tenant pass.

        Raises:
            TenantClosed: it is closed.
        """
        if self.find_closed_mark(tenant, CLOSED_CACHE_S) is not None:
            raise TenantClosed(f"the tenant {tenant} is closed")

    def find_closed_mark(self, tenant: str, max_age: float = 0.0) -> Image | None:
        """The mark of a closed tenant, at most ``max_age`` seconds old."""
        key = build_closed_mark_key(tenant)
        return self.item_cache.get(
            key, max_age, lambda: self.store.get(key, consistent=not max_age), absence=True
        )

    def open_admin(self, tenant: str, by: str) -> TenantAdmin:
        """The administration of a whole tenant, on behalf of the administrator ``by``."""
        return TenantAdmin(self, JobStore(self.store, self.now), tenant, by)


@dataclass(frozen=True)
class TenantAdmin:
    """The administration of one tenant. It works for a closed tenant too."""

    tenants: Tenants
    jobs: JobStore
    tenant: str
    by: str

    def delete(self, archive: Archive = "keep") -> DeletionJob:
        """Close the tenant for good, and start a job that removes everything of it.

        A repeated call returns the same job. A job that has failed or stalled is started again. A
        job that has been done for a day goes through everything once more; before, it reads nothing
        again. A later call may add that the archived rows are to be forgotten. This cannot be
        withdrawn.

        Raises:
            UnavailableError: the tenant may be closed already; call it again.
        """
        mark = self.tenants.find_closed_mark(self.tenant)
        job = self._close(archive) if mark is None else self._restart(_get_job_id(mark), archive)
        self.tenants.item_cache.forget(build_closed_mark_key(self.tenant))
        machine_input = {"tenant": job.tenant, "job": job.id}
        self.tenants.machine.start(f"{job.id}-{job.starts}", machine_input)
        return job

    def get_job(self, id: str) -> DeletionJob:
        """A job of the tenant.

        Raises:
            NotFound: the tenant has no job with that id.
        """
        is_id = JOB_ID.fullmatch(id)
        job = find_deletion(self.tenants.store, self.tenant, id) if is_id else None
        if job is None:
            raise NotFound(f"no job {id}")
        return job

    def _close(self, archive: Archive) -> DeletionJob:
        now = self.tenants.now()
        at = keys.render_instant(now)
        job = DeletionJob(str(ULID.from_datetime(now)), self.tenant, self.by, at, archive)
        values = attributes.to_image({"job": job.id, "at": at, "by": self.by or None})
        mark = {**to_key_image(build_closed_mark_key(self.tenant)), **values}
        writes = [Put(mark, "attribute_not_exists(PK)"), self.jobs.build_put(job)]
        try:
            self.tenants.store.transact(writes)
        except ConditionFailedError:  # another request, or an earlier attempt, was faster
            existing = self.tenants.find_closed_mark(self.tenant)
            if existing is None:
                raise UnavailableError("the tenant's mark is in an unknown state") from None
            return self._restart(_get_job_id(existing), archive)
        return job

    def _restart(self, id: str, archive: Archive) -> DeletionJob:
        for _ in range(ATTEMPTS):
            job = self.get_job(id)
            now = self.tenants.now()
            is_working = is_under_way(job, now)
            is_proven = job.state == "succeeded" and _is_proven(job, now)
            if (is_working or is_proven) and archive in ("keep", job.archive):
                return job
            if archive == "forget":
                job.archive = archive
            if not is_working:
                if job.state == "succeeded" and not is_proven:
                    job.passes, job.began, job.finished_at, job.seen = job.passes + 1, "", "", {}
                job.state, job.error = "running", ""
                job.starts += 1
            try:
                self.jobs.save(job)
            except OvertakenError:
                continue  # another request or a step has saved it: read it again
            return job
        raise UnavailableError(f"job {id} is changed by others again and again")


def _is_proven(job: DeletionJob, now: dt.datetime) -> bool:
    return now <= dt.datetime.fromisoformat(job.finished_at) + PROVEN_FOR


def _get_job_id(mark: Image) -> str:
    """The job that closed a tenant, by its mark."""
    return str(mark["job"]["S"])
