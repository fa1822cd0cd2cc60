"""Health, generations, rebuilds, the audit and deletions: the stack as a whole."""

from __future__ import annotations

from typing import Any

from daicho.archive.audit import ROUND_KEY, AuditRound
from daicho.errors import Conflict, NotFound
from daicho.jobs.lease import OvertakenError, is_under_way
from daicho.operations.declarations import describe_rebuild, list_generations
from daicho.operations.deletions import list_deletions
from daicho.operations.operator_session import OperatorSession
from daicho.operations.routes.answers import build_route, get_session, reply_json, reply_page
from daicho.rebuild.job import RebuildJob
from daicho.rebuild.requests import find_job, pause_job, resume_job, start_execution
from daicho.storage import keys
from daicho.web.http.operation import Call, Operation, Parameter, Reply
from daicho.web.http.shared_parameters import PAGING

JOB = Parameter("job", str, "The id of a rebuild.", place="path")


def build_health_routes() -> list[Operation]:
    """The routes."""
    return [
        build_route("GET", "/ops/health", "Show the health of the stack", _show_health),
        build_route(
            "GET", "/ops/generations", "List the generations of all entities", _list_generations
        ),
        build_route(
            "POST", "/ops/rebuilds/{job}/pause", "Pause a rebuild", _pause, variables=(JOB,)
        ),
        build_route(
            "POST", "/ops/rebuilds/{job}/resume", "Resume a rebuild", _resume, variables=(JOB,)
        ),
        build_route("GET", "/ops/audit", "Show the newest audit of the archive", _show_audit),
        build_route(
            "POST", "/ops/audit", "Start another audit of the archive", _start_audit, status=202
        ),
        build_route(
            "GET",
            "/ops/tenants",
            "List the deletions of tenants, newest first",
            _list_tenants,
            optional=PAGING,
        ),
    ]


def _show_health(call: Call) -> Reply:
    return reply_json(get_session(call).tools.health.read())


def _list_generations(call: Call) -> Reply:
    return reply_page(list_generations(get_session(call).tools.ledger), None)


def _pause(call: Call) -> Reply:
    session = get_session(call)
    tools = session.tools

    def pause() -> RebuildJob:
        job = _find_rebuild(session, call.values["job"])
        if job.state not in ("running", "blocked"):
            raise Conflict(f"the rebuild is {job.state}")
        try:
            return pause_job(tools.store, job, tools.now())
        except OvertakenError as error:
            raise Conflict(str(error)) from error

    job = session.act("pause rebuild", call.values["job"], pause)
    return reply_json(describe_rebuild(job))


def _resume(call: Call) -> Reply:
    session = get_session(call)
    tools = session.tools

    def resume() -> RebuildJob:
        job = _find_rebuild(session, call.values["job"])
        if job.state == "succeeded" or is_under_way(job, tools.now()):
            raise Conflict(f"the rebuild is {job.state}")
        try:
            resumed = resume_job(tools.store, job, tools.now())
        except OvertakenError as error:
            raise Conflict(str(error)) from error
        start_execution(tools.machine, resumed)
        return resumed

    job = session.act("resume rebuild", call.values["job"], resume, lambda job: f"as {job.id}")
    return reply_json(describe_rebuild(job))


def _find_rebuild(session: OperatorSession, id: str) -> RebuildJob:
    job = find_job(session.tools.store)
    if job is None or job.id != id:
        raise NotFound(f"no rebuild {id[:100]}; a resumed one has another id")
    return job


def _show_audit(call: Call) -> Reply:
    tools = get_session(call).tools
    item = tools.store.get(ROUND_KEY, consistent=True)
    if item is None:
        return reply_json({"day": None, "done": [], "given_up": [], "findings": []})
    found = AuditRound.parse(item)
    age = max(0.0, (tools.now() - found.whole).total_seconds())
    document: dict[str, Any] = {
        "day": found.day.isoformat(),
        "is_today": found.day == tools.now().date(),
        "complete_at": keys.render_instant(found.whole),
        "age_seconds": age,
        "done": list(found.done),
        "given_up": list(found.given_up),
        "doing": found.doing or None,
        "mismatches": found.mismatches,
        "findings": [vars(finding) for finding in found.findings],
    }
    return reply_json(document)


def _start_audit(call: Call) -> Reply:
    session = get_session(call)
    auditor = session.tools.auditor
    session.act("start audit", "archive", lambda: auditor.start({"again": True}))
    return reply_json({"started": True}, 202, "/ops/audit")


def _list_tenants(call: Call) -> Reply:
    tools = get_session(call).tools
    items, cursor = list_deletions(
        tools.store, call.values["cursor"], call.values["limit"], tools.map_all
    )
    return reply_page(items, cursor)
