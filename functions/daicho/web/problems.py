"""Problem details (RFC 9457): the one shape of everything that goes wrong."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, ConfigDict

CONTENT_TYPE = "application/problem+json"
_TITLES = {413: "Content Too Large", 422: "Unprocessable Content"}
PLACES = ("body", "query", "path", "header")


class FieldProblem(BaseModel):
    """What is wrong with one field."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"field": "name", "message": "…"}]})

    field: str
    message: str


class Problem(BaseModel):
    """An error, as RFC 9457 has it; ``errors`` names the fields."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[FieldProblem] | None = None


@dataclass
class HttpError(Exception):
    """A request that is answered with a problem."""

    status: int
    detail: str
    errors: list[tuple[str, str]] = field(default_factory=list)
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__(self.detail)

    @property
    def body(self) -> str:
        """The document."""
        return body(self.status, self.detail, self.errors)


def title(status: int) -> str:
    """A status in the words of RFC 9110, whatever Python's version has for it."""
    return _TITLES.get(status) or HTTPStatus(status).phrase


def body(status: int, detail: str, errors: Iterable[tuple[str, str]] = ()) -> str:
    """A problem document."""
    document: dict[str, Any] = {
        "type": "about:blank",
        "title": title(status),
        "status": status,
        "detail": detail,
    }
    named = [{"field": name, "message": message} for name, message in errors]
    if named:
        document["errors"] = named
    return json.dumps(document, ensure_ascii=False)


def of_validation(errors: Iterable[Mapping[str, Any]]) -> HttpError:
    """What Pydantic found, by field. JSON that cannot be read, and headers, are a 400."""
    found = list(errors)
    for each in found:
        if each["type"] == "json_invalid":
            return HttpError(400, str(each["msg"]))
    named = [(_name(each["loc"]), str(each["msg"])) for each in found]
    status = 400 if any(each["loc"][:1] == ("header",) for each in found) else 422
    return HttpError(status, "; ".join(f"{name}: {message}" for name, message in named[:3]), named)


def _name(loc: Iterable[Any]) -> str:
    """``("body", "candidates", 3)`` as ``candidates[3]``; what stands in no field is the body."""
    parts = list(loc)
    if parts[:1] == ["header"]:
        return str(parts[1]).title()
    if parts and parts[0] in PLACES:
        parts = parts[1:]
    name = ""
    for part in parts:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else str(part)
    return name or "body"
