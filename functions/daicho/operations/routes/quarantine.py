"""Records that were set aside, of all tenants: as a list, and one with both images."""

from __future__ import annotations

from daicho.errors import NotFound
from daicho.operations.routes.answers import build_route, get_session, reply_json, reply_page
from daicho.redrive.claim_ids import ClaimId, parse_claim_id
from daicho.redrive.set_aside import SetAsideRecord
from daicho.web.http.operation import Call, Operation, Parameter, Reply
from daicho.web.http.shared_parameters import PAGING

ID = Parameter("id", str, "The id of a record in the list.", place="path")


def build_quarantine_routes() -> list[Operation]:
    """The routes."""
    return [
        build_route(
            "GET",
            "/ops/quarantine",
            "List the records that were set aside, and the tallies that wait for a recount",
            _list,
            optional=PAGING,
        ),
        build_route(
            "GET",
            "/ops/quarantine/{id}",
            "Show a record that was set aside, with both images of its item",
            _show,
            variables=(ID,),
        ),
    ]


def parse_id(id: str) -> ClaimId:
    """The shard and the number of a record.

    Raises:
        NotFound: no record has such an id.
    """
    try:
        return parse_claim_id(id)
    except ValueError as error:
        raise NotFound(f"no record has the id {id[:100]}") from error


def _list(call: Call) -> Reply:
    session, cursor = get_session(call), call.values["cursor"]
    page = session.tools.records.list(session.retry_budget, cursor, call.values["limit"])
    items = [record.to_json() for record in page.items]
    recount = session.tools.list_recounts() if cursor is None else []
    return reply_page(items, page.cursor, recount=recount)


def _show(call: Call) -> Reply:
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
