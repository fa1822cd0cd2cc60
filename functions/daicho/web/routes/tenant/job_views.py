"""Jobs of a tenant, as the API answers them."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from daicho.layout.reservations import describe_key
from daicho.layout.retention import TOMBSTONE_RETENTION
from daicho.storage.attributes import ItemKey
from daicho.tenants.cascade_job import CascadeJob
from daicho.tenants.deletion_job import Archive, DeletionJob
from daicho.tenants.restore_job import RestoreJob
from daicho.tenants.tenant_job import TenantJob


class Removed(BaseModel):
    """What all passes have removed so far."""

    items: int = Field(description="Items that were removed.")
    tombstones: int = Field(
        description="Derived items and figures that became tombstones, which expire."
    )
    objects: int = Field(description="Versions of objects.")
    payloads: int = Field(description="Quarantined and discarded records.")
    recounts: int = Field(description="Entries of the list of recounts.")


class Proof(BaseModel):
    """The pass that found nothing. It began after the last write for the tenant."""

    began: dt.datetime
    ended: dt.datetime
    looked_at: int = Field(description="Items of the whole table, read strongly consistent.")
    tombstones: int = Field(description="The tombstones of the tenant.")
    tombstones_expire: dt.datetime = Field(
        description="When the last tombstone expires, at the latest."
    )


class JobView(BaseModel):
    """A job and its progress."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "01KAKZ0C7SJ7W9V0E3M4N5P6Q7",
                    "kind": "tenant deletion",
                    "state": "running",
                    "phase": "items",
                    "passes": 2,
                    "removed": {
                        "items": 10_412,
                        "tombstones": 96,
                        "objects": 12,
                        "payloads": 0,
                        "recounts": 0,
                    },
                    "read_units": 1_804.5,
                    "write_units": 31_236,
                    "asked_at": "2026-11-21T01:05:40.123456Z",
                    "updated_at": "2026-11-21T01:22:31.000000Z",
                    "archive": "keep",
                    "waits_until": None,
                    "error": None,
                    "proof": None,
                }
            ]
        }
    )

    id: str
    kind: Literal["tenant deletion"] = "tenant deletion"
    state: Literal["running", "succeeded", "failed"]
    phase: Literal["items", "objects", "payloads", "recounts", "waiting", "done"]
    passes: int = Field(description="How many passes have begun.")
    removed: Removed
    read_units: float
    write_units: float
    asked_at: dt.datetime
    updated_at: dt.datetime
    archive: Archive = Field(
        description="Whether the archived rows are forgotten after the job, or kept."
    )
    waits_until: dt.datetime | None = Field(
        None, description="When the next pass begins: earlier writes may continue until then."
    )
    error: str | None = Field(
        None, description="Why the job failed. A repeated request resumes it."
    )
    proof: Proof | None = None


class RestoreCounts(BaseModel):
    """What became of the selected items. After a dry run: what a restore would do."""

    restored: int = Field(description="Items that were written.")
    replaced: int = Field(description="Those of them that replaced a live item.")
    already: int = Field(description="Items that an earlier restore has written.")
    newer: int = Field(description="Items that were left alone, because a live item exists.")
    waiting: int = Field(
        description="Items that were left alone, because an expired item still exists: it is "
        "archived first."
    )
    failed: int = Field(description="Items that do not fit the declarations of today.")


class RestoreFailure(BaseModel):
    """An item that cannot be restored."""

    item: str = Field(description="The sort key of the item.")
    reason: str


class RestoreJobView(BaseModel):
    """A restore of archived items, and its progress."""

    id: str
    kind: Literal["restore"] = "restore"
    state: Literal["running", "succeeded", "failed"]
    entity: str
    since: dt.datetime = Field(description="The first time of deletion that is included.")
    until: dt.datetime = Field(description="The first time of deletion that is not included.")
    is_one_item: bool = Field(description="Whether one item was selected by its key.")
    dry_run: bool = Field(description="Whether nothing is written.")
    over_newer: bool = Field(description="Whether live items are replaced.")
    rows: int = Field(description="The rows that were selected.")
    items: int = Field(description="The items of these rows: the newest row of each is restored.")
    counts: RestoreCounts
    failures: list[RestoreFailure] = Field(description="The first items that have failed.")
    unreadable: int = Field(description="Objects of the archive that could not be read.")
    asked_by: str | None
    asked_at: dt.datetime
    updated_at: dt.datetime
    finished_at: dt.datetime | None
    error: str | None = Field(description="Why the job failed. It can be requested again.")


class CascadeJobView(BaseModel):
    """A deletion of an item with what refers to it, and its progress."""

    id: str
    kind: Literal["cascade"] = "cascade"
    state: Literal["running", "succeeded", "failed"]
    entity: str
    item: str = Field(description="The entity and the key of the item.")
    deleted: int = Field(
        description="The items that refer to it and were deleted, besides those of the request. "
        "What a killed step has deleted is not counted."
    )
    asked_by: str | None
    asked_at: dt.datetime
    updated_at: dt.datetime
    finished_at: dt.datetime | None
    error: str | None = Field(
        description="Why the job failed. The item and all that is left can be deleted again."
    )


AnyJobView = JobView | RestoreJobView | CascadeJobView


class JobPage(BaseModel):
    """A page of jobs, newest first; the cursor is null on the last page only."""

    items: list[AnyJobView]
    cursor: str | None


def build_any_view(job: DeletionJob | RestoreJob | CascadeJob) -> AnyJobView:
    """A job of any kind as it is shown."""
    match job:
        case RestoreJob():
            return build_restore_view(job)
        case CascadeJob():
            item = {"item": describe_key(ItemKey(*job.key))}
            return CascadeJobView.model_validate(_list_values(job) | item)
    return build_view(job)


def build_restore_view(job: RestoreJob) -> RestoreJobView:
    """A restore as it is shown."""
    counts = {"is_one_item": job.key is not None, "unreadable": len(job.unreadable)}
    return RestoreJobView.model_validate(_list_values(job) | counts)


def _list_values(job: TenantJob) -> dict[str, Any]:
    """The fields of a job, with null for those that are empty."""
    named = ("asked_by", "finished_at", "error")
    return vars(job) | {name: getattr(job, name) or None for name in named}


def build_view(job: DeletionJob) -> JobView:
    """A job as it is shown."""
    counts = job.counts
    removed = {name: int(counts.get(name, 0)) for name in Removed.model_fields}
    values = vars(job) | {
        "phase": "done" if job.finished_at else "waiting" if job.waits else job.phase,
        "removed": removed | {"tombstones": int(counts.get("fenced", 0))},
        "read_units": counts.get("read_units", 0),
        "write_units": counts.get("write_units", 0),
        "waits_until": job.waits or None,
        "error": job.error or None,
        "proof": _build_proof(job) if job.state == "succeeded" else None,
    }
    return JobView.model_validate(values)


def _build_proof(job: DeletionJob) -> Proof:
    ended = dt.datetime.fromisoformat(job.finished_at)
    return Proof(
        began=dt.datetime.fromisoformat(job.began),
        ended=ended,
        looked_at=int(job.seen.get("looked_at", 0)),
        tombstones=int(job.seen.get("tombstones", 0)),
        tombstones_expire=ended + TOMBSTONE_RETENTION,
    )
