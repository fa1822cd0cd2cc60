"""Schemas: the same difference breaks requests, answers, both or neither."""

from __future__ import annotations

from typing import Any

import pytest

from daicho_cli.contract.changes import Direction, Severity
from daicho_cli.contract.schemas import SchemaComparer

TEXT: dict[str, Any] = {"type": "string"}
NULL: dict[str, Any] = {"type": "null"}
BREAKING, NOTICE, COMPATIBLE = Severity.BREAKING, Severity.NOTICE, Severity.COMPATIBLE


def build_object(required: tuple[str, ...] = (), /, **fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(required)}


def judge(
    direction: Direction, old: Any, new: Any, **components: tuple[Any, Any]
) -> list[tuple[Severity, str, str]]:
    """Severity, rule and subject of each difference; ``components``: old and new ones by name."""
    before, after = (
        {"components": {"schemas": {name: pair[side] for name, pair in components.items()}}}
        for side in (0, 1)
    )
    found = SchemaComparer(before, after, direction).compare(old, new, "x")
    return [(each.severity, each.rule, each.subject) for each in found]


# Old and new schema; what it is in requests, in answers, and the rules.
CASES: dict[str, tuple[Any, Any, tuple[Severity, str] | None, tuple[Severity, str] | None]] = {
    "equal": (TEXT, {"type": "string", "description": "a text"}, None, None),
    "type list is alternatives": (
        {"anyOf": [TEXT, NULL]},
        {"type": ["string", "null"]},
        None,
        None,
    ),
    "const is an enumeration": ({"const": 1}, {"enum": [1], "type": "integer"}, None, None),
    "one part of allOf": ({"allOf": [TEXT]}, TEXT, None, None),
    "null is added": (
        TEXT,
        {"anyOf": [TEXT, NULL]},
        (COMPATIBLE, "widened-type"),
        (BREAKING, "widened-type"),
    ),
    "any becomes text": ({}, TEXT, (BREAKING, "narrowed-type"), (COMPATIBLE, "narrowed-type")),
    "value is removed": (
        {"type": "string", "enum": ["a", "b"]},
        {"type": "string", "enum": ["a"]},
        (BREAKING, "removed-value"),
        (COMPATIBLE, "removed-value"),
    ),
    "value is added": (
        {"type": "string", "enum": ["a"]},
        {"type": "string", "enum": ["a", "b"]},
        (COMPATIBLE, "added-value"),
        (NOTICE, "added-value"),
    ),
    "values are limited": (
        TEXT,
        {"type": "string", "enum": ["a"]},
        (BREAKING, "changed-values"),
        (COMPATIBLE, "changed-values"),
    ),
    "shorter": (
        {"type": "string", "maxLength": 9},
        {"type": "string", "maxLength": 8},
        (BREAKING, "narrowed-bound"),
        (COMPATIBLE, "changed-bound"),
    ),
    "longer": (
        {"type": "string", "maxLength": 8},
        {"type": "string", "maxLength": 9},
        (COMPATIBLE, "changed-bound"),
        (NOTICE, "widened-bound"),
    ),
    "another pattern": (
        {"type": "string", "pattern": "a"},
        {"type": "string", "pattern": "b"},
        (BREAKING, "changed-pattern"),
        (BREAKING, "changed-pattern"),
    ),
    "new format": (
        TEXT,
        {"type": "string", "format": "date"},
        (BREAKING, "changed-format"),
        (COMPATIBLE, "changed-format"),
    ),
    "field is removed": (
        build_object(a=TEXT),
        build_object(),
        (BREAKING, "removed-field"),
        (BREAKING, "removed-field"),
    ),
    "field is added": (
        build_object(),
        build_object(a=TEXT),
        (COMPATIBLE, "added-field"),
        (COMPATIBLE, "added-field"),
    ),
    "required field is added": (
        build_object(),
        build_object(("a",), a=TEXT),
        (BREAKING, "added-required-field"),
        (COMPATIBLE, "added-field"),
    ),
    "field becomes required": (
        build_object(a=TEXT),
        build_object(("a",), a=TEXT),
        (BREAKING, "newly-required-field"),
        (COMPATIBLE, "newly-required-field"),
    ),
    "field becomes optional": (
        build_object(("a",), a=TEXT),
        build_object(a=TEXT),
        (COMPATIBLE, "newly-optional-field"),
        (BREAKING, "newly-optional-field"),
    ),
    "other fields are refused": (
        build_object(),
        build_object() | {"additionalProperties": False},
        (BREAKING, "refused-fields"),
        (COMPATIBLE, "other-fields"),
    ),
    "other fields are accepted": (
        build_object() | {"additionalProperties": False},
        build_object(),
        (COMPATIBLE, "other-fields"),
        (COMPATIBLE, "other-fields"),
    ),
    "values of other fields": (
        {"type": "object", "additionalProperties": {"type": "string", "maxLength": 9}},
        {"type": "object", "additionalProperties": {"type": "string", "maxLength": 8}},
        (BREAKING, "narrowed-bound"),
        (COMPATIBLE, "changed-bound"),
    ),
    "items": (
        {"type": "array", "items": {"anyOf": [TEXT, NULL]}},
        {"type": "array", "items": TEXT},
        (BREAKING, "narrowed-type"),
        (COMPATIBLE, "narrowed-type"),
    ),
    "default": (
        {"type": "integer", "default": 1},
        {"type": "integer", "default": 2},
        (NOTICE, "changed-default"),
        None,
    ),
    "deprecated": (
        TEXT,
        {"type": "string", "deprecated": True},
        (NOTICE, "deprecated"),
        (NOTICE, "deprecated"),
    ),
    "a keyword without a rule": (
        TEXT,
        {"type": "string", "contentEncoding": "base64"},
        (NOTICE, "unclassified"),
        (NOTICE, "unclassified"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_difference_is_judged_by_its_direction(name: str) -> None:
    old, new, *expected = CASES[name]
    for direction, judgement in zip(Direction, expected, strict=True):
        found = [(severity, rule) for severity, rule, _ in judge(direction, old, new)]
        assert found == ([judgement] if judgement else []), direction


@pytest.mark.parametrize("name", CASES)
def test_what_narrows_requests_widens_the_opposite_answers(name: str) -> None:
    """A field of an answer may be added, and not removed: the only rules without a mirror."""
    old, new, in_requests, _ = CASES[name]
    opposite = [severity for severity, *_ in judge(Direction.ANSWER, new, old)]
    if in_requests is None or in_requests[0] is NOTICE or "field" in in_requests[1]:
        return
    if in_requests[0] is BREAKING:
        assert opposite in ([BREAKING], [NOTICE])
    else:
        assert opposite == [COMPATIBLE]
