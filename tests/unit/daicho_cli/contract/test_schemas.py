"""Schemas: the same difference breaks requests, answers, both or neither."""

from __future__ import annotations

from typing import Any

import pytest

from daicho_cli.contract.changes import Direction, Severity
from daicho_cli.contract.schemas import SchemaComparer

Schema = dict[str, Any]


def text(**keywords: Any) -> Schema:
    return {"type": "string", **keywords}


def fields(*required: str, **types: Any) -> Schema:
    return {"type": "object", "properties": types, "required": list(required)}


def judge(direction: Direction, old: Schema, new: Schema) -> list[str]:
    """Severity and rule of each difference."""
    found = SchemaComparer({}, {}, direction).compare(old, new, "x")
    return [f"{each.severity} {each.rule}" for each in found]


TEXT, A = text(), text(enum=["a"])
OR_NULL = {"anyOf": [TEXT, {"type": "null"}]}
CLOSED = fields() | {"additionalProperties": False}
NINE, EIGHT = text(maxLength=9), text(maxLength=8)
# Old and new schema; severity and rule in requests; severity in answers, and another rule.
CASES = [
    (TEXT, text(description="a text"), "", ""),
    (OR_NULL, {"type": ["string", "null"]}, "", ""),
    ({"const": 1}, {"enum": [1], "type": "integer"}, "", ""),
    ({"allOf": [TEXT]}, TEXT, "", ""),
    (TEXT, OR_NULL, "compatible widened-type", "breaking"),
    ({}, TEXT, "breaking narrowed-type", "compatible"),
    (text(enum=["a", "b"]), A, "breaking removed-value", "compatible"),
    (A, text(enum=["a", "b"]), "compatible added-value", "notice"),
    (TEXT, A, "breaking changed-values", "compatible"),
    (NINE, EIGHT, "breaking narrowed-bound", "compatible changed-bound"),
    (EIGHT, NINE, "compatible changed-bound", "notice widened-bound"),
    (text(pattern="a"), text(pattern="b"), "breaking changed-pattern", "breaking"),
    (TEXT, text(format="date"), "breaking changed-format", "compatible"),
    (fields(a=TEXT), fields(), "breaking removed-field", "breaking"),
    (fields(), fields(a=TEXT), "compatible added-field", "compatible"),
    (fields(), fields("a", a=TEXT), "breaking added-required-field", "compatible added-field"),
    (fields(a=TEXT), fields("a", a=TEXT), "breaking newly-required-field", "compatible"),
    (fields("a", a=TEXT), fields(a=TEXT), "compatible newly-optional-field", "breaking"),
    (fields(), CLOSED, "breaking refused-fields", "compatible other-fields"),
    (CLOSED, fields(), "compatible other-fields", "compatible"),
    (
        {"type": "object", "additionalProperties": NINE},
        {"type": "object", "additionalProperties": EIGHT},
        "breaking narrowed-bound",
        "compatible changed-bound",
    ),
    (
        {"type": "array", "items": OR_NULL},
        {"type": "array", "items": TEXT},
        "breaking narrowed-type",
        "compatible",
    ),
    (text(default="a"), text(default="b"), "notice changed-default", ""),
    (TEXT, text(deprecated=True), "notice deprecated", "notice"),
    (TEXT, text(contentEncoding="base64"), "notice unclassified", "notice"),
]


@pytest.mark.parametrize(("old", "new", "in_requests", "in_answers"), CASES)
def test_a_difference_is_judged_by_its_direction(
    old: Schema, new: Schema, in_requests: str, in_answers: str
) -> None:
    if in_answers in list(Severity):
        in_answers += in_requests[in_requests.index(" ") :]
    assert judge(Direction.REQUEST, old, new) == [each for each in [in_requests] if each]
    assert judge(Direction.ANSWER, old, new) == [each for each in [in_answers] if each]
