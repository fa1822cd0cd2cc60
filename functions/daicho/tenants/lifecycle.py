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
from daicho.layout.tenant_items import mark_key
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.storage.item_cache import Memory
from daicho.storage.requests import Put, Write, key_image
from daicho.tenants.jobs import Archive, Job, Jobs, OvertakenError
from daicho.tenants.jobs import Store as JobStore

CLOSED_SECONDS = 5.0
"""For so long an instance may go on for a tenant that is closed."""
ID = re.compile("[0-9A-Z]{26}")
"""A job's id, a ULID: of anything else there is no job, and of some not even a key."""
STALLED = dt.timedelta(hours=1)
"""A job that nobody has written to for so long, beyond its wait, is taken up anew."""
ATTEMPTS = 4


class Store(JobStore, Protocol):
    """What this needs of the table."""

    def transact(self, writes: Sequence[Write]) -> None:
        """Do all writes or none."""


class Machine(Protocol):
    """What works jobs off."""

    def start(self, name: str, given: Mapping[str, Any]) -> None:
        """Start it once under a name."""


@dataclass(frozen=True)
class Tenants:
    """The tenants of one table. Safe to share by threads."""

    store: Store
    memory: Memory
    machine: Machine
    now: Callable[[], dt.datetime]

    def admit(self, tenant: str) -> None:
        """Let a request of a tenant pass.

        Raises:
            TenantClosed: it is closed.
        """
        if self.mark(tenant, CLOSED_SECONDS) is not None:
            raise TenantClosed(f"the tenant {tenant} is closed")

    def mark(self, tenant: str, max_age: float = 0.0) -> Image | None:
        """The mark of a closed tenant, as it was so many seconds ago at most."""
        key = mark_key(tenant)
        return self.memory.get(
            key, max_age, lambda: self.store.get(key, consistent=not max_age), absence=True
        )

    def desk(self, tenant: str, by: str) -> Desk:
        """Where a tenant's administrator ``by`` asks for what concerns all of it."""
        return Desk(self, Jobs(self.store, self.now), tenant, by)


@dataclass(frozen=True)
class Desk:
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
        mark = self.tenants.mark(self.tenant)
        job = self._closed(archive) if mark is None else self._again(_job_of(mark), archive)
        self.tenants.memory.forget(mark_key(self.tenant))
        given = {"tenant": job.tenant, "job": job.id}
        self.tenants.machine.start(f"{job.id}-{job.starts}", given)
        return job

    def job(self, id: str) -> Job:
        """A job of the tenant.

        Raises:
            NotFound: it has none of that id.
        """
        found = self.jobs.find(self.tenant, id) if ID.fullmatch(id) else None
        if found is None:
            raise NotFound(f"no job {id}")
        return found

    def _closed(self, archive: Archive) -> Job:
        now = self.tenants.now()
        at = keys.instant(now)
        job = Job(str(ULID.from_datetime(now)), self.tenant, self.by, at, archive)
        values = attributes.to_image({"job": job.id, "at": at, "by": self.by or None})
        mark = {**key_image(mark_key(self.tenant)), **values}
        writes = [Put(mark, "attribute_not_exists(PK)"), self.jobs.saving(job)]
        try:
            self.tenants.store.transact(writes)
        except ConditionFailedError:  # another request was faster, or this one a moment ago
            stands = self.tenants.mark(self.tenant)
            if stands is None:
                raise UnavailableError("the tenant's mark is neither there nor not") from None
            return self._again(_job_of(stands), archive)
        return job

    def _again(self, id: str, archive: Archive) -> Job:
        for _ in range(ATTEMPTS):
            job = self.job(id)
            since = max(job.waits, job.updated_at)
            stalled = dt.datetime.fromisoformat(since) + STALLED < self.tenants.now()
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


def _job_of(mark: Image) -> str:
    """The job that closed a tenant, by its mark."""
    return str(mark["job"]["S"])
