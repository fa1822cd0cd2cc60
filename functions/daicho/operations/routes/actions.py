"""The log of what operators did."""

from __future__ import annotations

from daicho.operations.routes.answers import build_route, get_session, reply_page
from daicho.web.http.operation import Call, Operation, Reply
from daicho.web.http.shared_parameters import PAGING


def build_action_routes() -> list[Operation]:
    """The routes."""
    summary = "List what operators did in the last 90 days, newest first"
    return [build_route("GET", "/ops/log", summary, _list, optional=PAGING)]


def _list(call: Call) -> Reply:
    log = get_session(call).tools.log
    return reply_page(*log.list_page(call.values["cursor"], call.values["limit"]))
