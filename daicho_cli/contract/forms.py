"""The alternatives of a JSON Schema: what it refers to, and the types that it allows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]
Document = Mapping[str, Any]

ANY = "any"
"""The type of a schema without a type: any value."""
ANNOTATIONS = frozenset(
    {"$comment", "description", "example", "examples", "externalDocs", "title", "readOnly"}
)
"""Keywords that allow the same values whatever they are."""
OUTER = ANNOTATIONS | {"default", "deprecated"}
"""Keywords that belong to a schema as a whole, and not to each of its alternatives."""
COMPONENT = "$component"
"""In a form, the name of the component that it is; '' or missing if it is none."""
_CHOICES = ("anyOf", "oneOf")


def resolve(value: Schema, document: Document) -> Schema:
    """What a value of a document refers to, with the keywords next to the reference.

    Raises:
        KeyError: the document does not have it.
    """
    while "$ref" in value:
        target: Any = document
        for part in value["$ref"].removeprefix("#/").split("/"):
            target = target[part.replace("~1", "/").replace("~0", "~")]
        value = {**target, **{name: each for name, each in value.items() if name != "$ref"}}
    return value


def name_reference(schema: Any) -> str:
    """The name of the component that a schema is; '' if it is none, or a limited one."""
    if not isinstance(schema, Mapping) or schema.keys() - OUTER != {"$ref"}:
        return ""
    reference: str = schema["$ref"]
    return reference.rpartition("/")[2]


def split_forms(schema: Any, document: Document) -> Iterator[Schema]:
    """The schemas without alternatives that together allow the same values, each of one type."""
    name = name_reference(schema)
    if isinstance(schema, bool):
        schema = {} if schema else {"not": {}}
    schema = _merge_parts(resolve(schema, document), document)
    for choice in _CHOICES:
        if choice in schema:
            limits = {n: value for n, value in schema.items() if n not in {choice, *OUTER}}
            for alternative in schema[choice]:
                if limits:
                    alternative = {**limits, **resolve(alternative, document)}  # noqa: PLW2901
                yield from split_forms(alternative, document)
            return
    schema = {n: value for n, value in schema.items() if n not in OUTER}
    if "const" in schema:
        schema["enum"] = [schema.pop("const")]
    kinds = schema.get("type", _infer_type(schema))
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        yield {**schema, "type": kind, COMPONENT: name}


def group_forms(forms: Iterable[Schema]) -> dict[str, list[Schema]]:
    """Schemas by their type."""
    grouped: dict[str, list[Schema]] = defaultdict(list)
    for form in forms:
        grouped[form["type"]].append(form)
    return dict(grouped)


def _infer_type(schema: Schema) -> str:
    if "properties" in schema:
        return "object"
    kinds = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    values = {kinds.get(type(value), ANY) for value in schema.get("enum", ())}
    return values.pop() if len(values) == 1 else ANY


def _merge_parts(schema: Schema, document: Document) -> Schema:
    """A schema with its ``allOf`` merged into it."""
    if "allOf" not in schema:
        return schema
    merged: dict[str, Any] = {}
    parts = [_merge_parts(resolve(part, document), document) for part in schema["allOf"]]
    for part in (*parts, {name: value for name, value in schema.items() if name != "allOf"}):
        for name, value in part.items():
            if name == "properties":
                merged[name] = {**merged.get(name, {}), **value}
            elif name == "required":
                merged[name] = [*merged.get(name, ()), *value]
            else:
                merged[name] = value
    return merged
