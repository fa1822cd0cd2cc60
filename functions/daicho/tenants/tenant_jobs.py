"""The jobs of one tenant: their list, and restores of archived items."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from ulid import ULID

from daicho.errors import NotFound, StoreError, refuse
from daicho.jobs.lease import JobStore, is_under_way
from daicho.jobs.record import JOB_ID
from daicho.jobs.state_machine import RESTORE_PREFIX
from daicho.layout.tenant_items import build_job_key
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho.tenants.deletion_job import KIND, DeletionJob, list_job_images
from daicho.tenants.lifecycle import Tenants
from daicho.tenants.restore_job import RestoreJob

MAX_LISTED = 100
"""Among so many of the newest jobs of a tenant, a restore that is under way is looked for."""

AnyJob = DeletionJob | RestoreJob


@dataclass(frozen=True)
class RestoreRequest:
    """What to restore: see `RestoreJob`. ``since`` and ``until`` have a time zone."""

    entity: str
    since: dt.datetime
    until: dt.datetime
    key: ItemKey | None = None
    dry_run: bool = False
    over_newer: bool = False


@dataclass(frozen=True)
class TenantJobList:
    """The jobs of a tenant, on behalf of its administrator ``by``."""

    tenants: Tenants
    tenant: str
    by: str

    @property
    def _jobs(self) -> JobStore:
        return JobStore(self.tenants.store, self.tenants.now)

    def get(self, id: str) -> AnyJob:
        """A job of the tenant.

        Raises:
            NotFound: the tenant has no job with that id.
        """
        image = None
        if JOB_ID.fullmatch(id):
            key = build_job_key(self.tenant, id)
            image = self.tenants.store.get(key, consistent=True)
        if image is None:
            raise NotFound(f"no job {id}")
        return _read_job(image)

    def list(self, limit: int, below: str | None = None) -> tuple[Sequence[AnyJob], str | None]:
        """A page of jobs, newest first, and the ``below`` of the next page; None at the end."""
        images, has_more = list_job_images(self.tenants.store, self.tenant, limit, below)
        next_below = images[-1]["SK"]["S"] if has_more and images else None
        return [_read_job(image) for image in images], next_below

    def restore(self, request: RestoreRequest) -> RestoreJob:
        """Start a job that restores archived items.

        Raises:
            TenantClosed: the tenant is closed.
            Refusal: 409, another restore of the tenant is under way.
            UnavailableError: it could not be started; call it again.
        """
        self.tenants.check_open(self.tenant)
        now = self.tenants.now()
        under_way = next(
            (
                job.id
                for job in self.list(MAX_LISTED)[0]
                if isinstance(job, RestoreJob) and is_under_way(job, now)
            ),
            None,
        )
        if under_way is not None:
            raise refuse(409, f"the restore {under_way} is under way: wait for its end")
        job = RestoreJob(
            id=str(ULID.from_datetime(now)),
            tenant=self.tenant,
            asked_by=self.by,
            asked_at=keys.render_instant(now),
            entity=request.entity,
            since=keys.render_instant(request.since),
            until=keys.render_instant(request.until),
            key=None if request.key is None else [*request.key],
            dry_run=request.dry_run,
            over_newer=request.over_newer,
        )
        self._jobs.save(job)
        try:
            self.tenants.machine.start(f"{RESTORE_PREFIX}{job.id}", job.machine_input)
        except StoreError as error:
            # It may have been started: a step finds that the job has failed, and does nothing.
            job.state, job.error = "failed", f"it could not be started: {error}"
            job.finished_at = keys.render_instant(self.tenants.now())
            self._jobs.save(job)
            raise
        return job


def _read_job(image: Image) -> AnyJob:
    return RestoreJob.from_image(image) if KIND in image else DeletionJob.from_image(image)
