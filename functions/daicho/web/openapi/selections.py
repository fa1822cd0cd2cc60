"""Answers to ``?fields=``: items that have the requested fields alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from daicho.web.http.operation import Operation
from daicho.web.http.shared_parameters import FIELDS
from daicho.web.routes.objects import Located

SCHEMAS = "#/components/schemas/"
LOCATED = f"{SCHEMAS}{Located.__name__}"
ENDING = "Fields"
"""The end of the name of the schema of some fields of an item."""


def describe_selections(document: Mapping[str, Any], served: Sequence[Operation]) -> None:
    """Let an operation that takes ``fields`` answer with some fields of what it answers with."""
    schemas: dict[str, Any] = document["components"]["schemas"]
    for operation in served:
        if FIELDS not in operation.parameters:
            continue
        described = document["paths"][operation.path][operation.method.lower()]
        content = described["responses"]["200"]["content"]["application/json"]
        options = content["schema"].get("anyOf", [content["schema"]])
        selections = [_add_selection(schemas, each["$ref"]) for each in options if "$ref" in each]
        content["schema"] = {"anyOf": [*options, *selections]}


def _add_selection(schemas: dict[str, Any], reference: str) -> dict[str, str]:
    """A reference to the schema of some fields of an item, or of a page of such items."""
    name = reference.removeprefix(SCHEMAS)
    whole, selected = schemas[name], f"{name}{ENDING}"
    if selected not in schemas:
        properties, kept = dict(whole["properties"]), []
        for field, described in properties.items():
            if described.get("$ref") == LOCATED:  # without URLs
                properties[field] = _add_selection(schemas, LOCATED)
        if "cursor" in properties:
            item = _add_selection(schemas, properties["items"]["items"]["$ref"])
            properties["items"] = {**properties["items"], "items": item}
            kept = whole["required"]
        text = {"description": f"Some fields of {name}: those that `fields` names."}
        schemas[selected] = {
            **whole,
            **text,
            "title": selected,
            "properties": properties,
            "required": kept,
        }
        if not kept:
            del schemas[selected]["required"]
    return {"$ref": f"{SCHEMAS}{selected}"}
