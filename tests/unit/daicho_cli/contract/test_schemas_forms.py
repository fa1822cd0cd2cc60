"""The alternatives of a schema."""

from __future__ import annotations

from typing import Any

import pytest

from daicho_cli.contract.schemas import (
    ANY,
    COMPONENT,
    group_forms,
    name_reference,
    resolve,
    split_forms,
)

DOCUMENT: dict[str, Any] = {
    "components": {
        "schemas": {"A/b": {"type": "string"}, "C": {"$ref": "#/components/schemas/A~1b"}}
    }
}


def test_a_reference_is_followed_and_keeps_what_is_beside_it() -> None:
    value = {"$ref": "#/components/schemas/C", "description": "d"}
    assert resolve(value, DOCUMENT) == {"type": "string", "description": "d"}
    assert name_reference(value) == "C"
    assert name_reference(True) == ""


def test_a_missing_component_is_an_error() -> None:
    with pytest.raises(KeyError, match="D"):
        resolve({"$ref": "#/components/schemas/D"}, DOCUMENT)


@pytest.mark.parametrize(
    ("schema", "kinds"),
    [
        ({"type": "string"}, ["string"]),
        ({"type": ["string", "null"]}, ["string", "null"]),
        ({"anyOf": [{"$ref": "#/components/schemas/C"}, {"type": "null"}]}, ["string", "null"]),
        ({"oneOf": [{"type": "integer"}, {"anyOf": [{"type": "null"}]}]}, ["integer", "null"]),
        ({"properties": {}}, ["object"]),
        ({"enum": [True]}, ["boolean"]),
        ({"enum": ["a", 1]}, [ANY]),
        ({}, [ANY]),
        (True, [ANY]),
    ],
)
def test_the_types_of_a_schema(schema: Any, kinds: list[str]) -> None:
    assert list(group_forms(split_forms(schema, DOCUMENT))) == kinds


def test_the_parts_of_all_of_are_merged() -> None:
    schema = {
        "allOf": [
            {"type": "object", "properties": {"a": {}}, "required": ["a"]},
            {"properties": {"b": {}}, "required": ["b"]},
        ],
        "description": "d",
    }
    (form,) = split_forms(schema, DOCUMENT)
    assert form == {
        "type": "object",
        "properties": {"a": {}, "b": {}},
        "required": ["a", "b"],
        COMPONENT: "",
    }


def test_an_alternative_without_further_limits_is_a_component() -> None:
    reference = {"$ref": "#/components/schemas/C"}
    pure = {"anyOf": [reference, {"type": "null"}], "default": None, "title": "t"}
    assert [form[COMPONENT] for form in split_forms(pure, DOCUMENT)] == ["C", ""]
    limited = {"anyOf": [reference, {"type": "null"}], "maxLength": 9}
    assert [form[COMPONENT] for form in split_forms(limited, DOCUMENT)] == ["", ""]
    assert name_reference({**reference, "maxLength": 9}) == ""
