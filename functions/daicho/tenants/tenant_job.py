"""Jobs that a tenant's callers ask for: what their records and their workers have in common."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import ClassVar, Generic, TypeVar

from daicho.jobs.lease import JobStore
from daicho.jobs.record import JobRecord, build_expiry
from daicho.layout.tenant_items import build_job_key
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.table import Table
from daicho.tenants.deletion_job import KIND


@dataclass(kw_only=True)
class TenantJob(JobRecord):
    """The record of a job of a tenant.

    ``asked_by``, ``asked_at``: who requested it, and when. ``error``: why it has failed.
    """

    KIND_VALUE: ClassVar[str]
    """The kind, as the item has it."""
    PREFIX: ClassVar[str]
    """With the id, what the state machine gets as the job."""
    tenant: str
    asked_by: str
    asked_at: str
    error: str = ""

    @property
    def machine_input(self) -> dict[str, str]:
        """The input of the state machine."""
        return {"tenant": self.tenant, "job": f"{self.PREFIX}{self.id}"}

    @property
    def item_key(self) -> ItemKey:
        """The key of the item."""
        return build_job_key(self.tenant, self.id)

    @property
    def more_attributes(self) -> Image:
        """The kind of the job, and when its item expires."""
        return {**attributes.to_image({KIND: self.KIND_VALUE}), **build_expiry(self.asked_at)}


J = TypeVar("J", bound=TenantJob)


@dataclass(frozen=True)
class TenantJobWorker(Generic[J]):
    """What works on the jobs of one kind, whose record is a ``J``."""

    RECORD: ClassVar[type[TenantJob]]
    store: Table
    now: Callable[[], dt.datetime]

    @property
    def jobs(self) -> JobStore:
        """Where jobs are saved."""
        return JobStore(self.store, self.now)

    def find(self, tenant: str, name: str) -> J | None:
        """A tenant's job that is under way. ``name``: of the job, in the machine's input."""
        key = build_job_key(tenant, name.removeprefix(self.RECORD.PREFIX))
        image = self.store.get(key, consistent=True)
        job = None if image is None else self.RECORD.from_image(image)
        return job if job is not None and job.state == "running" else None  # type: ignore[return-value]  # a J

    def fail_job(self, tenant: str, name: str, reason: str) -> None:
        """Record that nobody works on a job any more."""
        job = self.find(tenant, name)
        if job is not None:
            self.end(job, reason)

    def end(self, job: J, error: str = "") -> None:
        """Save that a job has ended."""
        job.state, job.error = ("failed" if error else "succeeded"), error[:1000]
        job.finished_at = keys.render_instant(self.now())
        self.jobs.save(job)
