"""Answers of operators' routes, and what their answerers get."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from daicho.operations.operator_session import OperatorSession
from daicho.web.http.operation import Answerer, Call, Operation, Parameter, QueryVariant, Reply

TAG = "operations"


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


def build_route(  # the parts of an operation
    method: str,
    path: str,
    summary: str,
    answer: Answerer,
    *,
    optional: tuple[Parameter, ...] = (),
    variables: tuple[Parameter, ...] = (),
    body: Any = None,
    status: int = 200,
) -> Operation:
    """A route with one query. ``body``: the model of its body, None for none."""
    variant = QueryVariant(f"{method} {path}", summary, answer, optional=optional)
    return Operation(
        method,
        path,
        TAG,
        [variant],
        variables=variables,
        body_model=body,
        status=status,
    )
