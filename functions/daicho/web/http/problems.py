"""Problem details (RFC 9457): the one format of all errors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from daicho.web.http.problem_types import find_type
from daicho.web.http.validation_messages import describe_failure, describe_json_fault

CONTENT_TYPE = "application/problem+json"
MAX_NAMED = 20
"""The errors that a problem names. The number of the others is in its detail."""
MAX_PROBLEM_BYTES = 60_000
MAX_NAME, MAX_MESSAGE = 200, 1_000
"""Characters of a name and of a message: both may contain what was sent."""
PLACES = ("body", "query", "path", "header")
NO_EXAMPLES: Mapping[str, str] = {}


@dataclass
class HttpError(Exception):
    """A request that is answered with a problem; ``type`` "" means the type of the status.

    ``total``: the number of errors, if it is larger than that of ``errors``.
    """

    status: int
    detail: str
    errors: list[tuple[str, str]] = field(default_factory=list)
    headers: Mapping[str, str] = field(default_factory=dict)
    type: str = ""
    total: int = 0

    def __post_init__(self) -> None:
        super().__init__(self.detail)

    def render_body(self, server: str = "") -> str:
        """The problem document: at most 20 errors, and 60,000 bytes.

        ``server``: the API's address.
        """
        type = find_type(self.status, self.type)
        document: dict[str, Any] = {
            "type": type.render_address(server),
            "title": type.title,
            "status": type.status,
            "detail": self.detail,
        }
        named = [
            {"field": _cut(name, MAX_NAME), "message": _cut(message, MAX_MESSAGE)}
            for name, message in self.errors[:MAX_NAMED]
        ]
        total = max(self.total, len(self.errors))
        while True:
            rest = total - len(named)
            more = f"; {rest:,} more problems are not named" if rest else ""
            document["detail"] = f"{_cut(self.detail, MAX_MESSAGE)}{more}"
            if named:
                document["errors"] = named
            text = json.dumps(document, ensure_ascii=False)
            if not named or len(text) * 4 <= MAX_PROBLEM_BYTES:
                return text
            if len(text.encode(errors="surrogatepass")) <= MAX_PROBLEM_BYTES:
                return text
            del named[len(named) // 2 :]
            document.pop("errors")


def build_example(status: int) -> dict[str, Any]:
    """A problem document with a status, for the description."""
    errors = [("name", "Field required")] if status == 422 else []
    example: dict[str, Any] = json.loads(
        HttpError(status, "what is wrong, in words", errors).render_body()
    )
    return example


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: characters - 1]}…"


class FieldProblem(BaseModel):
    """The problem of one field."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"field": "name", "message": "…"}]})

    field: str
    message: str


class Problem(BaseModel):
    """A problem document (RFC 9457); ``errors`` names the fields, if there are any."""

    model_config = ConfigDict(json_schema_extra={"examples": [build_example(422)]})

    type: str
    title: str
    status: int
    detail: str
    errors: list[FieldProblem] = Field(default_factory=list)


def read_first_errors(error: ValidationError) -> list[dict[str, Any]]:
    """The first errors that Pydantic has found in a body, without a copy of all of them."""
    text = error.json(include_url=False, include_input=False)
    decoder, errors, position = json.JSONDecoder(), list[dict[str, Any]](), 1
    while len(errors) < MAX_NAMED and position < len(text) - 1:
        failure, position = decoder.raw_decode(text, position)
        errors.append({**failure, "loc": ("body", *failure["loc"])})
        position += 1  # a comma
    return errors


def refuse_value(path: Sequence[str | int], message: str) -> HttpError:
    """The refusal of the value at a path in a body."""
    name = _render_name(("body", *path))
    return HttpError(422, f"{name}: {message}", [(name, message)])


def from_validation(
    errors: Iterable[Mapping[str, Any]],
    pattern_examples: Mapping[str, str] = NO_EXAMPLES,
    total: int = 0,
) -> HttpError:
    """Pydantic's errors by field. Errors of unreadable JSON and of headers are a 400.

    ``pattern_examples``: text that matches a pattern, by the pattern; the message shows it instead.
    ``total``: the number of errors, if it is larger than that of ``errors``.
    """
    failures = list(errors)
    for failure in failures:
        if failure["type"] == "json_invalid":
            return HttpError(400, describe_json_fault(failure))
    named = [
        (_render_name(failure["loc"]), describe_failure(failure, pattern_examples))
        for failure in failures
    ]
    status = 400 if any(failure["loc"][:1] == ("header",) for failure in failures) else 422
    detail = "; ".join(f"{name}: {message}" for name, message in named[:3])
    return HttpError(status, detail, named, total=total)


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
