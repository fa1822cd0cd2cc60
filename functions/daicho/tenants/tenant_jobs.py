"""The jobs of one tenant: its deletion, those that its callers ask for, and the list of all."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from ulid import ULID

from daicho.errors import (
    ConditionFailedError,
    NotFound,
    StoreError,
    UnavailableError,
    Unfinished,
    refuse,
)
from daicho.jobs.lease import JobStore, OvertakenError, is_under_way
from daicho.jobs.record import JOB_ID
from daicho.layout.tenant_items import (
    CLOSED_SORT_KEY,
    build_closed_mark_key,
    build_job_key,
    render_tenant_partition,
)
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.requests import Put, Query, to_key_image
from daicho.tenants.cascade_job import CascadeJob
from daicho.tenants.deletion_job import KIND, Archive, DeletionJob, find_deletion
from daicho.tenants.lifecycle import Tenants
from daicho.tenants.restore_job import RestoreJob
from daicho.tenants.tenant_job import J

PROVEN_FOR = dt.timedelta(days=1)
"""For this time after its end a deletion is not repeated: each pass reads the table of all."""
ATTEMPTS = 4
MAX_LISTED = 100
"""Among so many of the newest jobs of a tenant, one that is under way is looked for."""

AnyJob = DeletionJob | RestoreJob | CascadeJob


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
class TenantJobs:
    """The jobs of a tenant, on behalf of its administrator ``by``. A closed tenant has them too."""

    tenants: Tenants
    tenant: str
    by: str

    @property
    def _jobs(self) -> JobStore:
        return JobStore(self.tenants.store, self.tenants.now)

    def delete(self, archive: Archive = "keep") -> DeletionJob:
        """Close the tenant for good, and start a job that removes everything of it.

        A repeated call returns the same job. A job that has failed or stalled is started again. A
        job that has been done for a day goes through everything once more; before, it reads nothing
        again. A later call may add that the archived rows are to be forgotten. This cannot be
        withdrawn.

        Raises:
            UnavailableError: the tenant may be closed already; call it again.
        """
        job = self.close(archive)
        # A table that is restored later does not know it: the history of executions does.
        machine_input = {"tenant": job.tenant, "job": job.id, "archive": job.archive}
        self.tenants.machine.start(f"{job.id}-{job.starts}", machine_input)
        return job

    def close(self, archive: Archive = "keep") -> DeletionJob:
        """Close the tenant for good; returns the job, which has to be started.

        Raises:
            UnavailableError: the tenant may be closed already; call it again.
        """
        mark = self.tenants.find_closed_mark(self.tenant)
        job = self._close(archive) if mark is None else self._restart(_get_job_id(mark), archive)
        self.tenants.item_cache.forget(build_closed_mark_key(self.tenant))
        return job

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
        query = Query(
            render_tenant_partition(self.tenant),
            below=below,
            forward=False,
            limit=limit,
            consistent=True,
        )
        page = self.tenants.store.query(query)
        # The mark of a closed tenant is the last item in this order.
        images = [image for image in page.items if image["SK"]["S"] != CLOSED_SORT_KEY]
        has_more = page.last is not None and len(images) == len(page.items)
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
        under_way = self._find_under_way(RestoreJob)
        if under_way is not None:
            raise refuse(409, f"the restore {under_way.id} is under way: wait for its end")
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
        return self._start(job)

    def delete_item(self, item: Image) -> CascadeJob:
        """Start a job that deletes an item with what refers to it, or find the one that does.

        Raises:
            Unfinished: such a job of another item is under way.
            UnavailableError: it could not be started; call it again.
        """
        key, created_at = [*get_key(item)], item["created_at"]["S"]
        under_way = self._find_under_way(CascadeJob)
        if under_way is not None and (under_way.key, under_way.created_at) == (key, created_at):
            # It is started once: an earlier request may have ended before that.
            self.tenants.machine.start(under_way.machine_input["job"], under_way.machine_input)
            return under_way
        if under_way is not None:
            detail = f"the job {under_way.id} deletes another item"
            raise Unfinished(f"{detail}: repeat the request after its end", item)
        now = self.tenants.now()
        job = CascadeJob(
            id=str(ULID.from_datetime(now)),
            tenant=self.tenant,
            asked_by=self.by,
            asked_at=keys.render_instant(now),
            entity=item["type"]["S"],
            key=key,
            created_at=created_at,
        )
        return self._start(job)

    def _find_under_way(self, kind: type[J]) -> J | None:
        """A job of the kind that is under way, among the newest ones."""
        now = self.tenants.now()
        jobs = (job for job in self.list(MAX_LISTED)[0] if isinstance(job, kind))
        return next((job for job in jobs if is_under_way(job, now)), None)

    def _start(self, job: J) -> J:
        """Save a new job, and start the state machine for it."""
        self._jobs.save(job)
        try:
            self.tenants.machine.start(job.machine_input["job"], job.machine_input)
        except StoreError as error:
            # It may have been started: a step finds that the job has failed, and does nothing.
            job.state, job.error = "failed", f"it could not be started: {error}"
            job.finished_at = keys.render_instant(self.tenants.now())
            self._jobs.save(job)
            raise
        return job

    def _close(self, archive: Archive) -> DeletionJob:
        now = self.tenants.now()
        at = keys.render_instant(now)
        job = DeletionJob(str(ULID.from_datetime(now)), self.tenant, self.by, at, archive)
        values = attributes.to_image({"job": job.id, "at": at, "by": self.by or None})
        mark = {**to_key_image(build_closed_mark_key(self.tenant)), **values}
        writes = [Put(mark, "attribute_not_exists(PK)"), self._jobs.build_put(job)]
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
            job = find_deletion(self.tenants.store, self.tenant, id)
            if job is None:
                raise NotFound(f"no job {id}")
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
                self._jobs.save(job)
            except OvertakenError:
                continue  # another request or a step has saved it: read it again
            return job
        raise UnavailableError(f"job {id} is changed by others again and again")


def _is_proven(job: DeletionJob, now: dt.datetime) -> bool:
    return now <= dt.datetime.fromisoformat(job.finished_at) + PROVEN_FOR


def _get_job_id(mark: Image) -> str:
    """The job that closed a tenant, by its mark."""
    return str(mark["job"]["S"])


def _read_job(image: Image) -> AnyJob:
    match attributes.get_text(image, KIND):
        case RestoreJob.KIND_VALUE:
            return RestoreJob.from_image(image)
        case CascadeJob.KIND_VALUE:
            return CascadeJob.from_image(image)
    return DeletionJob.from_image(image)
