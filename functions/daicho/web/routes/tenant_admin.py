"""The routes of a whole tenant: its deletion, and the job that performs it.

These routes are mounted beside those of the domains. They are for the tenant's administrator, and
stay open when all other routes answer that the tenant is closed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from daicho.layout.retention import TOMBSTONE_RETENTION
from daicho.tenants.jobs import Archive, Job
from daicho.web.http.operation import Call, Operation, Parameter, QueryVariant, Reply

if TYPE_CHECKING:
    from daicho.tenants.lifecycle import TenantAdmin

ARCHIVE = Parameter(
    "archive",
    Archive,
    "`forget` also removes the archived rows of the tenant for good, within days after the job is "
    "done. It can be requested later, but not revoked.",
    default="keep",
)
ADMIN = "admin"
"""The role that these routes require: a group of the user pool."""
TAG = "tenant"
NAMES = ("delete_tenant", "get_job")
"""The names of the operations, which no operation of a domain has."""


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


def build_admin_operations() -> list[Operation]:
    """The routes."""
    delete = QueryVariant(
        "Tenant.DELETE",
        "Close the tenant for good, and start a job that removes its data",
        _delete,
        JobView,
        optional=(ARCHIVE,),
        roles=(ADMIN,),
    )
    show = QueryVariant("Job.GET", "Show the progress of a job", _show, JobView, roles=(ADMIN,))
    variable = Parameter("id", str, place="path")
    deletion = Operation("DELETE", "/tenant", TAG, [delete], status=202, errors=(503,))
    job = Operation("GET", "/jobs/{id}", TAG, [show], (variable,))
    deletion.name, job.name = NAMES
    return [deletion, job]


def _delete(call: Call) -> Reply:
    job = _get_admin(call).delete(call.values["archive"])
    return Reply(202, build_view(job).model_dump_json(), {"Location": f"/jobs/{job.id}"})


def _show(call: Call) -> Reply:
    return Reply(200, build_view(_get_admin(call).get_job(call.values["id"])).model_dump_json())


def _get_admin(call: Call) -> TenantAdmin:
    return cast("TenantAdmin", call.book)


def build_view(job: Job) -> JobView:
    """A job as it is shown."""
    counts, succeeded = job.counts, job.state == "succeeded"
    return JobView(
        id=job.id,
        state=job.state,
        phase="done" if succeeded else "waiting" if job.waits else job.phase,
        passes=job.passes,
        removed=Removed(
            items=_count(counts, "items"),
            tombstones=_count(counts, "fenced"),
            objects=_count(counts, "objects"),
            payloads=_count(counts, "payloads"),
            recounts=_count(counts, "recounts"),
        ),
        read_units=counts.get("read_units", 0),
        write_units=counts.get("write_units", 0),
        asked_at=_parse_instant(job.asked_at),
        updated_at=_parse_instant(job.updated_at),
        archive=job.archive,
        waits_until=_parse_instant(job.waits) if job.waits else None,
        error=job.error or None,
        proof=_build_proof(job) if succeeded else None,
    )


def _build_proof(job: Job) -> Proof:
    ended = _parse_instant(job.finished_at)
    return Proof(
        began=_parse_instant(job.began),
        ended=ended,
        looked_at=_count(job.seen, "looked_at"),
        tombstones=_count(job.seen, "tombstones"),
        tombstones_expire=ended + TOMBSTONE_RETENTION,
    )


def _count(counts: Mapping[str, float], name: str) -> int:
    return int(counts.get(name, 0))


def _parse_instant(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)
