"""Examples are made of types and limits, unless a field, a domain or the library gives one."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.web.openapi.examples import UNKNOWN, Examples

TEXT = {"type": "string"}


def make(schema: dict[str, Any], name: str, **given: Any) -> Any:
    """The example of a field or parameter of the domain ``desk``."""
    return Examples({"desk": given}).make_example(schema, "desk", name)


@pytest.mark.parametrize(
    ("schema", "example"),
    [
        (TEXT, "Opened by"),
        ({**TEXT, "minLength": 12}, "Opened byOpened by"),
        ({**TEXT, "maxLength": 4}, "Open"),
        ({**TEXT, "pattern": "^[A-Z][a-z ]+$"}, "Opened by"),
        ({**TEXT, "pattern": "^[0-9]+$"}, UNKNOWN),
        ({**TEXT, "format": "date"}, "2026-11-21"),
        ({**TEXT, "format": "date-time"}, "2026-11-21T01:05:40.123456Z"),
        ({**TEXT, "enum": ["open", "done"]}, "open"),
        ({**TEXT, "default": "ops"}, "ops"),
        ({**TEXT, "default": ""}, "Opened by"),
        ({"type": "integer"}, 1),
        ({"type": "integer", "minimum": 5}, 5),
        ({"type": "integer", "maximum": -2}, -2),
        ({"type": "integer", "exclusiveMinimum": 9}, 10),
        ({"type": "integer", "minimum": 10, "maximum": 40, "multipleOf": 15}, 15),
        ({"type": "number", "minimum": 0.5, "maximum": 0.75}, 0.75),
        ({"type": "boolean"}, True),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 1),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [1, 1]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"name": 1}),
    ],
)
def test_an_example_follows_from_the_type_and_the_limits(
    schema: dict[str, Any], example: Any
) -> None:
    assert make(schema, "opened_by") == example
