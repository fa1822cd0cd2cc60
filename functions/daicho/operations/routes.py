"""The routes of operators: health, records that were set aside, redrives, the log of actions."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from pydantic import BaseModel, Field

from daicho.archive.audit import ROUND_KEY, AuditRound
from daicho.errors import Conflict, Invalid, NotFound
from daicho.jobs.lease import OvertakenError, is_under_way
from daicho.operations.operator_session import OperatorSession
from daicho.operations.stack_state import describe_rebuild, list_deletions, list_generations
from daicho.rebuild.job import RebuildJob
from daicho.rebuild.repair_job import (
    RepairJob,
    RepairUnderWayError,
    choose_targets,
    find_repair,
    request_repair,
)
from daicho.rebuild.requests import find_job, pause_job, resume_job, start_execution
from daicho.redrive.claim_ids import ClaimId, parse_claim_id, render_claim_id
from daicho.redrive.job import RedriveJob
from daicho.redrive.redrives import MAX_CHOSEN
from daicho.redrive.set_aside import SetAsideRecord
from daicho.storage import keys
from daicho.stream.recount_list import describe_recounts
from daicho.tenants.usage import list_days, list_usage, price_usage
from daicho.verify.job import (
    VerifyJob,
    find_verification,
    request_verification,
    start_verification,
)
from daicho.web.http.operation import Answerer, Call, Operation, Parameter, QueryVariant, Reply
from daicho.web.http.shared_parameters import PAGING

TAG = "operations"
JOB = Parameter("job", str, "The id of a rebuild.", place="path")
RECORD = Parameter("id", str, "The id of a record in the list.", place="path")
REDRIVE = Parameter("id", str, "The id of a redrive.", place="path")


def get_session(call: Call) -> OperatorSession:
    """The session of a call."""
    return cast(OperatorSession, call.book)


def reply_json(document: Any, status: int = 200, location: str | None = None) -> Reply:
    """A document as an answer; ``location``: where its further state is."""
    body = json.dumps(document, ensure_ascii=False)
    return Reply(status, body, {"Location": location} if location else {})


def reply_page(items: Sequence[Mapping[str, Any]], cursor: str | None, **more: Any) -> Reply:
    """A page of a list."""
    return reply_json({"items": list(items), "cursor": cursor, **more})


def _list_actions(call: Call) -> Reply:
    """List what operators did in the last 90 days, newest first."""
    log = get_session(call).tools.log
    return reply_page(*log.list_page(call.values["cursor"], call.values["limit"]))


def _show_health(call: Call) -> Reply:
    """Show the health of the stack."""
    return reply_json(get_session(call).tools.health.read())


def _list_generations(call: Call) -> Reply:
    """List the generations of all entities."""
    return reply_page(list_generations(get_session(call).tools.ledger), None)


def _pause(call: Call) -> Reply:
    """Pause a rebuild."""
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
    """Resume a rebuild."""
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
    for job in (find_job(session.tools.store), find_repair(session.tools.store)):
        if job is not None and job.id == id:
            return job
    raise NotFound(f"no rebuild {id[:100]}; a resumed one has another id")


class RepairOrder(BaseModel):
    """A run that writes all rows again: of some entities and one tenant, empty for all.

    A dry run starts nothing.
    """

    entities: list[str] = []
    tenant: str = ""
    rate: float = Field(default=500.0, ge=1)
    dry_run: bool = True


def _show_repair(call: Call) -> Reply:
    """Show the newest run that writes rows again."""
    job = find_repair(get_session(call).tools.store)
    return reply_json({"state": None} if job is None else _describe_repair(job))


def _start_repair(call: Call) -> Reply:
    """Write all rows of existing items again, or only estimate it."""
    session, order = get_session(call), cast(RepairOrder, call.body)
    tools = session.tools
    targets = choose_targets(tools.ledger, order.entities)
    estimate = estimate_repair(find_verification(tools.store), order.tenant)
    document = {"targets": targets, "tenant": order.tenant, "estimate": estimate}
    if order.dry_run:
        return reply_json(document, 202)

    def start() -> RepairJob:
        items = int(estimate["items"]) if estimate else 0
        try:
            job = request_repair(
                tools.store, targets, order.tenant, tools.now(), rate=order.rate, total=items
            )
        except (RepairUnderWayError, OvertakenError) as error:
            raise Conflict(str(error)) from error
        start_execution(tools.machine, job)
        return job

    scope = " ".join((*order.entities, *filter(None, [order.tenant]))) or "everything"
    job = session.act("start rebuild again", scope, start, lambda job: f"rebuild {job.id}")
    return reply_json({**document, **_describe_repair(job)}, 202, "/ops/rebuilds/again")


def _describe_repair(job: RepairJob) -> dict[str, Any]:
    progress = describe_rebuild(job) or {"job": job.id, "state": job.state}
    counts = {name: int(count) for name, count in job.counts.items()}
    return {**progress, "targets": job.targets, "tenant": job.tenant, "counts": counts}


def estimate_repair(job: VerifyJob | None, tenant: str) -> dict[str, float | str] | None:
    """What a run writes at most, by the last verification; None if that has not counted it.

    This function reads no item of a tenant. An item of up to 1 KB takes one write unit, and each of
    its rows one in the table and one in its index.
    """
    if job is None or job.outcome is None or job.entity or job.tenant not in ("", tenant):
        return None
    items, rows = (job.counts.get(name, 0) / job.sample for name in ("items", "rows"))
    units = round(items + 2 * rows)
    return {"items": round(items), "write_units": units, "verification": job.id}


def _show_audit(call: Call) -> Reply:
    """Show the newest audit of the archive."""
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
    """Start another audit of the archive."""
    session = get_session(call)
    auditor = session.tools.auditor
    session.act("start audit", "archive", lambda: auditor.start({"again": True}))
    return reply_json({"started": True}, 202, "/ops/audit")


class VerificationOrder(BaseModel):
    """A verification: of one entity or one tenant, empty for all, and of a share of the table."""

    entity: str = ""
    tenant: str = ""
    sample: float = Field(default=1.0, gt=0, le=1)
    repair: bool = False


def _show_verification(call: Call) -> Reply:
    """Show the newest verification, with its first findings."""
    job = find_verification(get_session(call).tools.store)
    return reply_json({"state": None} if job is None else job.to_json())


def _start_verification(call: Call) -> Reply:
    """Start a verification, with or without repairs."""
    session, order = get_session(call), cast(VerificationOrder, call.body)
    tools = session.tools

    def start() -> VerifyJob:
        asked = VerifyJob(
            "", keys.render_instant(tools.now()), asked_by=session.user, **order.model_dump()
        )
        try:
            job = request_verification(tools.store, asked, tools.ledger)
        except OvertakenError as error:
            raise Conflict(str(error)) from error
        start_verification(tools.machine, job)
        return job

    scope = " ".join(filter(None, (order.entity, order.tenant))) or "everything"
    name = "start repair" if order.repair else "start verification"
    job = session.act(name, scope, start, lambda job: f"verification {job.id}")
    return reply_json(job.to_json(), 202, "/ops/verify")


def _list_tenants(call: Call) -> Reply:
    """List the deletions of tenants, newest first."""
    tools = get_session(call).tools
    items, cursor = list_deletions(
        tools.store, call.values["cursor"], call.values["limit"], tools.map_all
    )
    return reply_page(items, cursor)


PERIOD = Parameter("period", str, "A day, 2026-11-30, or a month, 2026-11; default: today, in UTC.")
MAX_TENANTS = 10


def _list_usage(call: Call) -> Reply:
    """List the ten tenants that consumed most in a day or a month."""
    tools, period = get_session(call).tools, call.values["period"]
    period = period or tools.now().date().isoformat()
    try:
        days = list_days(period)
    except ValueError as error:
        raise Invalid(str(error)[:200], field="period") from error
    items = [
        {"tenant": name, **usage._asdict(), "dollars": round(price_usage(usage), 6)}
        for name, usage in list_usage(tools.store, days)[:MAX_TENANTS]
    ]
    return reply_page(items, None, period=period)


def parse_id(id: str) -> ClaimId:
    """The shard and the number of a record.

    Raises:
        NotFound: no record has such an id.
    """
    try:
        return parse_claim_id(id)
    except ValueError as error:
        raise NotFound(f"no record has the id {id[:100]}") from error


def _list_records(call: Call) -> Reply:
    """List the records that were set aside, and the tallies that wait for a recount."""
    session, cursor = get_session(call), call.values["cursor"]
    page = session.tools.records.list(session.retry_budget, cursor, call.values["limit"])
    items = [record.to_json() for record in page.items]
    recount = describe_recounts(session.tools.store) if cursor is None else []
    return reply_page(items, page.cursor, recount=recount)


def _show_record(call: Call) -> Reply:
    """Show a record that was set aside, with both images of its item."""
    session, id = get_session(call), call.values["id"]
    claim = parse_id(id)

    def find() -> SetAsideRecord:
        record = session.tools.records.get(claim, session.retry_budget)
        if record is None:
            raise NotFound("this record is not set aside: it is applied, or never was")
        return record

    # The images are a tenant's data, so it is recorded who has seen them.
    record = session.act("show record", id, find, _describe_record)
    return reply_json(record.to_json(in_full=True))


def _describe_record(record: SetAsideRecord) -> str:
    shown = record.to_json()
    return f"{shown['entity']} of tenant {shown['tenant']}"


class RedriveChoice(BaseModel):
    """The records of a redrive by their ids; null for everything that was set aside.

    With the action `dismiss`, what no code can compute is left out for good instead.
    """

    claims: list[str] | None = Field(max_length=MAX_CHOSEN)
    action: Literal["apply", "dismiss"] = "apply"


class RedriveOrder(RedriveChoice):
    """A redrive, with the number of records that its preview counted."""

    count: int = Field(ge=0)


def _preview(call: Call) -> Reply:
    """Count what a redrive would work on, with the older records that it must apply first."""
    session, order = get_session(call), cast(RedriveChoice, call.body)
    chosen = _parse_chosen(order)
    preview = session.tools.redrives.preview(chosen, session.retry_budget, order.action)
    added = [render_claim_id(claim) for claim in preview.added]
    more = {"items": list(preview.items)} if order.action == "dismiss" else {}
    return reply_json({"count": preview.count, "added": added, **more})


def _start(call: Call) -> Reply:
    """Start a redrive of the chosen records, or of everything."""
    session, order = get_session(call), cast(RedriveOrder, call.body)
    chosen = _parse_chosen(order)

    def start() -> RedriveJob:
        return session.tools.redrives.start(
            chosen,
            count=order.count,
            user=session.user,
            retry_budget=session.retry_budget,
            action=order.action,
        )

    target = "everything" if chosen is None else f"{len(chosen)} chosen records"
    name = "start dismissal" if order.action == "dismiss" else "start redrive"
    job = session.act(name, target, start, lambda job: f"redrive {job.id}")
    return reply_json(job.to_json(), 202, f"/ops/redrives/{job.id}")


def _list_redrives(call: Call) -> Reply:
    """List the redrives of the last 90 days, newest first."""
    redrives = get_session(call).tools.redrives
    jobs, cursor = redrives.list(call.values["cursor"], call.values["limit"])
    return reply_page([job.to_json() for job in jobs], cursor)


def _show_redrive(call: Call) -> Reply:
    """Show the progress of a redrive."""
    job = get_session(call).tools.redrives.get(call.values["id"])
    if job is None:
        raise NotFound(f"no redrive {call.values['id'][:100]}")
    return reply_json(job.to_json())


def _parse_chosen(order: RedriveChoice) -> Sequence[ClaimId] | None:
    """The chosen records; None for all of them."""
    if order.claims is None:
        return None
    try:
        return [parse_claim_id(text) for text in order.claims]
    except ValueError as error:
        raise Invalid(str(error)[:200], field="claims") from error


def build_route(
    method: str,
    path: str,
    answer: Answerer,
    *,
    optional: tuple[Parameter, ...] = (),
    variables: tuple[Parameter, ...] = (),
    body: Any = None,
    status: int = 200,
) -> Operation:
    """A route with one query, whose summary is the docstring of the function that answers.

    ``body``: the model of its body, None for none.
    """
    summary = (inspect.getdoc(answer) or "").rstrip(".")
    variant = QueryVariant(f"{method} {path}", summary, answer, optional=optional)
    return Operation(method, path, TAG, [variant], variables, body_model=body, status=status)


def build_operations() -> list[Operation]:
    """The routes of each stage."""
    return [
        build_route("GET", "/ops/health", _show_health),
        build_route("GET", "/ops/generations", _list_generations),
        build_route("POST", "/ops/rebuilds/{job}/pause", _pause, variables=(JOB,)),
        build_route("POST", "/ops/rebuilds/{job}/resume", _resume, variables=(JOB,)),
        build_route("GET", "/ops/rebuilds/again", _show_repair),
        build_route("POST", "/ops/rebuilds/again", _start_repair, body=RepairOrder, status=202),
        build_route("GET", "/ops/audit", _show_audit),
        build_route("POST", "/ops/audit", _start_audit, status=202),
        build_route("GET", "/ops/verify", _show_verification),
        build_route("POST", "/ops/verify", _start_verification, body=VerificationOrder, status=202),
        build_route("GET", "/ops/tenants", _list_tenants, optional=PAGING),
        build_route("GET", "/ops/usage", _list_usage, optional=(PERIOD,)),
        build_route("GET", "/ops/quarantine", _list_records, optional=PAGING),
        build_route("GET", "/ops/quarantine/{id}", _show_record, variables=(RECORD,)),
        build_route("POST", "/ops/redrives/preview", _preview, body=RedriveChoice),
        build_route("POST", "/ops/redrives", _start, body=RedriveOrder, status=202),
        build_route("GET", "/ops/redrives", _list_redrives, optional=PAGING),
        build_route("GET", "/ops/redrives/{id}", _show_redrive, variables=(REDRIVE,)),
        build_route("GET", "/ops/log", _list_actions, optional=PAGING),
    ]
