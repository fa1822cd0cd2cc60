"""The routes of a whole tenant: its deletion, its jobs, its limits, and its archive.

These routes are mounted next to those of the domains. Those but the limits are for the tenant's
administrator, but whoever asked for a job may read it. Deletion, jobs and limits stay open when all
other routes answer that the tenant is closed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from daicho.declare.registry import Daicho
from daicho.declare.rules.roles import OWNER
from daicho.errors import NotFound
from daicho.query.paging import CursorBinding, CursorPosition
from daicho.tenants.deletion_job import Archive, DeletionJob
from daicho.tenants.tenant_jobs import AnyJob
from daicho.web.http.operation import Call, Operation, Parameter, QueryVariant, Reply
from daicho.web.http.shared_parameters import PAGING
from daicho.web.routes.tenant import archive
from daicho.web.routes.tenant.job_views import (
    AnyJobView,
    JobPage,
    JobView,
    build_any_view,
    build_view,
)
from daicho.web.routes.tenant.limits import build_limits_operation

if TYPE_CHECKING:
    from daicho.web.routes.tenant.session import TenantSession

ARCHIVE = Parameter(
    "archive",
    Archive,
    "`forget` also removes the archived rows of the tenant for good, within days after the job is "
    "done. It can be requested later, but not revoked.",
    default="keep",
)
ADMIN = archive.ADMIN
"""The role that these routes require: a group of the user pool."""
TAG = archive.TAG
NAMES = ("delete_tenant", "get_job", "list_jobs", "get_limits", *archive.NAMES)
"""The names of the operations, which no operation of a domain has."""


def build_admin_operations(daicho: Daicho) -> list[Operation]:
    """The routes of a project. Those of the archive exist if items of an entity are archived."""
    delete = QueryVariant(
        "Tenant.DELETE",
        "Close the tenant for good, and start a job that removes its data",
        _delete,
        JobView,
        optional=(ARCHIVE,),
        roles=(ADMIN,),
    )
    readers = (OWNER, ADMIN)
    show = QueryVariant("Job.GET", "Show the progress of a job", _show, AnyJobView, access=readers)
    listed = QueryVariant(
        "Job.list", "List the jobs, newest first", _list, JobPage, optional=PAGING, roles=(ADMIN,)
    )
    variable = Parameter("id", str, place="path")
    deletion = Operation("DELETE", "/tenant", TAG, [delete], status=202)
    job = Operation("GET", "/jobs/{id}", TAG, [show], (variable,))
    jobs = Operation("GET", "/jobs", TAG, [listed])
    limits = build_limits_operation(TAG)
    operations = [deletion, job, jobs, limits, *archive.build_archive_operations(daicho)]
    for operation, name in zip(operations, NAMES, strict=False):
        operation.name = name
    return operations


def _delete(call: Call) -> Reply:
    job = _get_session(call).jobs.delete(call.values["archive"])
    return Reply(202, build_view(job).model_dump_json(), {"Location": f"/jobs/{job.id}"})


def _show(call: Call) -> Reply:
    session, id = _get_session(call), call.values["id"]
    job = session.jobs.get(id)
    if not _may_read(session, job):
        raise NotFound(f"no job {id}")
    return Reply(200, build_any_view(job).model_dump_json())


def _may_read(session: TenantSession, job: AnyJob) -> bool:
    """Whether the caller is an administrator, or has asked for the job."""
    caller = session.access.caller
    if caller is None or caller.has_role(ADMIN):
        return True
    return not isinstance(job, DeletionJob) and job.asked_by == session.subject


def _list(call: Call) -> Reply:
    session = _get_session(call)
    binding = CursorBinding(session.tenant, ("jobs",), session.access.lineage)
    position = binding.read_cursor(call.values["cursor"])
    jobs, below = session.jobs.list(call.values["limit"], position.order if position else None)
    cursor = binding.write_cursor(CursorPosition(below) if below else None)
    page = JobPage(items=[build_any_view(job) for job in jobs], cursor=cursor)
    return Reply(200, page.model_dump_json())


def _get_session(call: Call) -> TenantSession:
    return cast("TenantSession", call.book)
