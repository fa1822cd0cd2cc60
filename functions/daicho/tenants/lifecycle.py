"""Tenants: whether one is closed, and closing it for good.

A closed tenant's mark is looked at with each request; an instance remembers for some seconds that
there is none. So from some seconds after the mark is written on, nothing is written for the tenant
any more, but by requests that were let in before.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ulid import ULID

from daicho.errors import ConditionFailedError, NotFound, TenantClosed, UnavailableError
from daicho.layout.tenant_items import build_closed_mark_key
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.storage.item_cache import ItemCache
from daicho.storage.requests import Put, Write, to_key_image
from daicho.tenants.jobs import Archive, Job, Jobs, OvertakenError
from daicho.tenants.jobs import JobTable as JobStore

CLOSED_CACHE_S = 5.0
"""For so long an instance may go on for a tenant that is closed."""
JOB_ID = re.compile("[0-9A-Z]{26}")
"""A job's id, a ULID: of anything else there is no job, and of some not even a key."""
STALLED_AFTER = dt.timedelta(hours=1)
"""A job that nobody has written to for so long, beyond its wait, is taken up anew."""
ATTEMPTS = 4


class TenantTable(JobStore, Protocol):
    """What this needs of the table."""

    def transact(self, writes: Sequence[Write]) -> None:
        """Do all writes or none."""


class DeletionMachine(Protocol):
    """What works jobs off."""

    def start(self, name: str, given: Mapping[str, Any]) -> None:
        """Start it once under a name."""


@dataclass(frozen=True)
class Tenants:
    """The tenants of one table. Safe to share by threads."""

    store: TenantTable
    memory: ItemCache
    machine: DeletionMachine
    now: Callable[[], dt.datetime]

    def check_open(self, tenant: str) -> None:
        """Let a request of a tenant pass.

        Raises:
            TenantClosed: it is closed.
        """
        if self.find_closed_mark(tenant, CLOSED_CACHE_S) is not None:
            raise TenantClosed(f"the tenant {tenant} is closed")

    def find_closed_mark(self, tenant: str, max_age: float = 0.0) -> Image | None:
        """The mark of a closed tenant, as it was so many seconds ago at most."""
        key = build_closed_mark_key(tenant)
        return self.memory.get(
            key, max_age, lambda: self.store.get(key, consistent=not max_age), absence=True
        )

    def open_admin(self, tenant: str, by: str) -> TenantAdmin:
        """Where a tenant's administrator ``by`` asks for what concerns all of it."""
        return TenantAdmin(self, Jobs(self.store, self.now), tenant, by)


@dataclass(frozen=True)
class TenantAdmin:
    """One tenant's. It is open when all else is closed."""

    tenants: Tenants
    jobs: Jobs
    tenant: str
    by: str

    def delete(self, archive: Archive = "keep") -> Job:
        """Close the tenant for good, and let a job remove everything of it.

        Asked again it is the same job; one that has failed or stalled is taken up anew, and one
        that is done goes through everything once more. That its archived rows are to be forgotten
        may be said later too, and is not taken back.

        Raises:
            UnavailableError: it may be closed already; to be asked again.
        """
        mark = self.tenants.find_closed_mark(self.tenant)
        job = self._close(archive) if mark is None else self._restart(_get_job_id(mark), archive)
        self.tenants.memory.forget(build_closed_mark_key(self.tenant))
        given = {"tenant": job.tenant, "job": job.id}
        self.tenants.machine.start(f"{job.id}-{job.starts}", given)
        return job

    def get_job(self, id: str) -> Job:
        """A job of the tenant.

        Raises:
            NotFound: it has none of that id.
        """
        found = self.jobs.find(self.tenant, id) if JOB_ID.fullmatch(id) else None
        if found is None:
            raise NotFound(f"no job {id}")
        return found

    def _close(self, archive: Archive) -> Job:
        now = self.tenants.now()
        at = keys.render_instant(now)
        job = Job(str(ULID.from_datetime(now)), self.tenant, self.by, at, archive)
        values = attributes.to_image({"job": job.id, "at": at, "by": self.by or None})
        mark = {**to_key_image(build_closed_mark_key(self.tenant)), **values}
        writes = [Put(mark, "attribute_not_exists(PK)"), self.jobs.build_put(job)]
        try:
            self.tenants.store.transact(writes)
        except ConditionFailedError:  # another request was faster, or this one a moment ago
            stands = self.tenants.find_closed_mark(self.tenant)
            if stands is None:
                raise UnavailableError("the tenant's mark is neither there nor not") from None
            return self._restart(_get_job_id(stands), archive)
        return job

    def _restart(self, id: str, archive: Archive) -> Job:
        for _ in range(ATTEMPTS):
            job = self.get_job(id)
            since = max(job.waits, job.updated_at)
            stalled = dt.datetime.fromisoformat(since) + STALLED_AFTER < self.tenants.now()
            works = job.state == "running" and not stalled
            if works and archive in ("keep", job.archive):
                return job
            if archive == "forget":
                job.archive = archive
            if not works:
                if job.state == "succeeded":
                    job.passes, job.began, job.finished_at, job.seen = job.passes + 1, "", "", {}
                job.state, job.error = "running", ""
                job.starts += 1
            try:
                self.jobs.save(job)
            except OvertakenError:
                continue  # another request has, or a step: it is looked at as it is now
            return job
        raise UnavailableError(f"job {id} moves on, again and again")


def _get_job_id(mark: Image) -> str:
    """The job that closed a tenant, by its mark."""
    return str(mark["job"]["S"])
