"""Redrives: previewed, started with the confirmed number of records, and followed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from pydantic import BaseModel, Field

from daicho.errors import Invalid, NotFound
from daicho.operations.routes.answers import build_route, get_session, reply_json, reply_page
from daicho.redrive.claim_ids import ClaimId, parse_claim_id, render_claim_id
from daicho.redrive.job import RedriveJob
from daicho.redrive.redrives import MAX_CHOSEN
from daicho.web.http.operation import Call, Operation, Parameter, Reply
from daicho.web.http.shared_parameters import PAGING

ID = Parameter("id", str, "The id of a redrive.", place="path")


class ChosenRecords(BaseModel):
    """The records of a redrive by their ids; null for everything that was set aside."""

    claims: list[str] | None = Field(max_length=MAX_CHOSEN)


class RedriveOrder(ChosenRecords):
    """A redrive, with the number of records that its preview counted."""

    count: int = Field(ge=0)


def build_redrive_routes() -> list[Operation]:
    """The routes."""
    return [
        build_route(
            "POST",
            "/ops/redrives/preview",
            "Count what a redrive would work on, with the older records that it must apply first",
            _preview,
            body=ChosenRecords,
        ),
        build_route(
            "POST",
            "/ops/redrives",
            "Start a redrive of the chosen records, or of everything",
            _start,
            body=RedriveOrder,
            status=202,
        ),
        build_route(
            "GET",
            "/ops/redrives",
            "List the redrives of the last 90 days, newest first",
            _list,
            optional=PAGING,
        ),
        build_route(
            "GET", "/ops/redrives/{id}", "Show the progress of a redrive", _show, variables=(ID,)
        ),
    ]


def _preview(call: Call) -> Reply:
    session, order = get_session(call), cast(ChosenRecords, call.body)
    preview = session.tools.redrives.preview(_parse_chosen(order), session.retry_budget)
    added = [render_claim_id(claim) for claim in preview.added]
    return reply_json({"count": preview.count, "added": added})


def _start(call: Call) -> Reply:
    session, order = get_session(call), cast(RedriveOrder, call.body)
    chosen = _parse_chosen(order)

    def start() -> RedriveJob:
        return session.tools.redrives.start(
            chosen, count=order.count, user=session.user, retry_budget=session.retry_budget
        )

    target = "everything" if chosen is None else f"{len(chosen)} chosen records"
    job = session.act("start redrive", target, start, lambda job: f"redrive {job.id}")
    return reply_json(job.to_json(), 202, f"/ops/redrives/{job.id}")


def _list(call: Call) -> Reply:
    page = get_session(call).tools.redrives.list(call.values["cursor"], call.values["limit"])
    return reply_page([job.to_json() for job in page.items], page.cursor)


def _show(call: Call) -> Reply:
    job = get_session(call).tools.redrives.get(call.values["id"])
    if job is None:
        raise NotFound(f"no redrive {call.values['id'][:100]}")
    return reply_json(job.to_json())


def _parse_chosen(order: ChosenRecords) -> Sequence[ClaimId] | None:
    """The chosen records; None for all of them."""
    if order.claims is None:
        return None
    try:
        return [parse_claim_id(text) for text in order.claims]
    except ValueError as error:
        raise Invalid(str(error)[:200], field="claims") from error
