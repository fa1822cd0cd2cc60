"""What API Gateway answers itself, before or instead of the function: no problem documents.

An HTTP API cannot change these answers (a REST API has gateway responses for it).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daicho.web.http.problem_types import get_phrase

SCHEMA_NAME = "GatewayMessage"
SCHEMA: Mapping[str, Any] = {
    "title": SCHEMA_NAME,
    "description": "An answer of API Gateway itself.",
    "type": "object",
    "properties": {"message": {"type": "string"}},
    "required": ["message"],
    "examples": [{"message": "Unauthorized"}],
}

MESSAGES: Mapping[int, str] = {
    401: "Unauthorized",
    429: "Too Many Requests",
    503: "Service Unavailable",
}
"""By status: no valid token; more requests than the stage admits; no answer of the function."""


def describe_content(status: int) -> dict[str, Any]:
    """The content of the gateway's own answer with this status; empty if it has none."""
    if status not in MESSAGES:
        return {}
    schema = {"$ref": f"#/components/schemas/{SCHEMA_NAME}"}
    return {"application/json": {"schema": schema, "example": {"message": MESSAGES[status]}}}


def describe_unauthorized() -> dict[str, Any]:
    """The answer to a request without a valid token, which never reaches the function."""
    challenge = {
        "description": "`Bearer`, with the reason for a token that is not accepted.",
        "schema": {"type": "string"},
    }
    return {
        "description": f"{get_phrase(401)}: the gateway's answer, not a problem document",
        "headers": {"WWW-Authenticate": challenge},
        "content": describe_content(401),
    }
