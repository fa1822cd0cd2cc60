"""Examples are made of types and limits, unless a field, a domain or the library gives one."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

import pytest

from daicho import Domain, Entity, Key, field, uid
from daicho.declare.registry import Daicho
from daicho.web.openapi.document import describe_operations
from daicho.web.openapi.examples import COMMON, UNKNOWN, Examples
from daicho.web.routes.builder import build_operations

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


def test_a_domain_gives_the_first_value_that_fits() -> None:
    assert make(TEXT, "team", team="ops") == "ops"
    assert make(TEXT, "team", team=7) == "Team"
    assert make({**TEXT, "maxLength": 3}, "team", team="long") == "Tea"
    assert make(TEXT, "team", team=["ops", "sales"]) == "ops"
    assert make(TEXT, "email", email="a@b") == "a@b"


def test_the_type_itself_comes_before_the_library() -> None:
    assert make({**TEXT, "examples": ["x@example.org"]}, "email") == "x@example.org"
    assert make(TEXT, "email") == COMMON["email"]
    assert make({"type": "integer"}, "email") == 1


def test_only_the_api_makes_a_cursor() -> None:
    assert make(TEXT, "cursor") == UNKNOWN


class Ticket(Entity):
    """Something to do."""

    id: str = uid()
    code: str = field(pattern="^[A-Z]{3}-[0-9]+$", examples=["OPS-7"])
    state: Literal["open", "done"] = field(default="open")
    opened: dt.date = field()

    key = Key(id)


def test_a_field_may_give_its_own() -> None:
    domain = Domain("desk", Ticket, examples={"state": "done"})
    domain.resource("/tickets/{id}", Ticket, "POST")
    daicho = Daicho(domain)
    spec = describe_operations(build_operations(daicho), examples=daicho.examples)
    example = spec["paths"]["/tickets"]["post"]["requestBody"]["content"]["application/json"]
    assert example["example"]["code"] == "OPS-7"
    assert example["example"]["state"] == "done"
    assert example["example"]["opened"] == "2026-11-21"
