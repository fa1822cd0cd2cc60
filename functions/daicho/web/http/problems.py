"""Problem details (RFC 9457): the one format of all errors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from daicho.web.http.problem_types import ProblemType, find_type

CONTENT_TYPE = "application/problem+json"
PLACES = ("body", "query", "path", "header")
NO_EXAMPLES: Mapping[str, str] = {}
_NO_OBJECT = ("dict_type", "model_type", "model_attributes_type", "mapping_type")
"""Pydantic's message for these names a class, which is unknown to clients."""


_INVALID = find_type(422)
_EXAMPLE: dict[str, Any] = {
    "type": _INVALID.render_address(""),
    "title": _INVALID.title,
    "status": _INVALID.status,
    "detail": "what is wrong, in words",
    "errors": [{"field": "name", "message": "Field required"}],
}


class FieldProblem(BaseModel):
    """The problem of one field."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"field": "name", "message": "…"}]})

    field: str
    message: str


class Problem(BaseModel):
    """A problem document (RFC 9457); ``errors`` names the fields, if there are any."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    type: str
    title: str
    status: int
    detail: str
    errors: list[FieldProblem] = Field(default_factory=list)


@dataclass
class HttpError(Exception):
    """A request that is answered with a problem; ``type`` "" means the type of the status."""

    status: int
    detail: str
    errors: list[tuple[str, str]] = field(default_factory=list)
    headers: Mapping[str, str] = field(default_factory=dict)
    type: str = ""

    def __post_init__(self) -> None:
        super().__init__(self.detail)

    def render_body(self, server: str) -> str:
        """The document; ``server`` is the API's address."""
        return render_problem(find_type(self.status, self.type), self.detail, self.errors, server)


def render_problem(
    type: ProblemType, detail: str, errors: Iterable[tuple[str, str]] = (), server: str = ""
) -> str:
    """A problem document."""
    document: dict[str, Any] = {
        "type": type.render_address(server),
        "title": type.title,
        "status": type.status,
        "detail": detail,
    }
    named = [{"field": name, "message": message} for name, message in errors]
    if named:
        document["errors"] = named
    return json.dumps(document, ensure_ascii=False)


def from_validation(
    errors: Iterable[Mapping[str, Any]], pattern_examples: Mapping[str, str] = NO_EXAMPLES
) -> HttpError:
    """Pydantic's errors by field. Errors of unreadable JSON and of headers are a 400.

    ``pattern_examples``: text that matches a pattern, by the pattern; the message shows it instead.
    """
    failures = list(errors)
    for failure in failures:
        if failure["type"] == "json_invalid":
            return HttpError(400, str(failure["msg"]))
    named = [
        (_render_name(failure["loc"]), _render_message(failure, pattern_examples))
        for failure in failures
    ]
    status = 400 if any(failure["loc"][:1] == ("header",) for failure in failures) else 422
    return HttpError(status, "; ".join(f"{name}: {message}" for name, message in named[:3]), named)


def _render_message(error: Mapping[str, Any], pattern_examples: Mapping[str, str]) -> str:
    if error["type"] in _NO_OBJECT:
        return "Input should be an object"
    if error["type"] == "string_pattern_mismatch":
        pattern = error["ctx"]["pattern"]
        example = pattern_examples.get(pattern)
        return (
            f"Input should have the form of {example}"
            if example
            else f"Input should match the regular expression {pattern}"
        )
    return str(error["msg"])


def _render_name(loc: Iterable[Any]) -> str:
    """``("body", "candidates", 3)`` as ``candidates[3]``; an error in no field is of the body."""
    parts = list(loc)
    if parts[:1] == ["header"]:
        return str(parts[1]).title()
    if parts and parts[0] in PLACES:
        parts = parts[1:]
    name = ""
    for part in parts:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else str(part)
    return name or "body"
