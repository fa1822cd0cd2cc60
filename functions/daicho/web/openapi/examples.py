"""Examples for the description: a plausible value for each body and parameter.

A value comes from the domain by the name of the field or parameter (``field(examples=[…])``,
``Domain(examples=…)``), then from the type's own examples, then from `COMMON`, and otherwise from
the type and the limits of the schema. A value that its schema does not admit is passed over.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

UNKNOWN = "…"
"""Stands for text that only a pattern describes, of which no example is known."""

COMMON: Mapping[str, Any] = {
    "id": "01KAKZ0C7SJ7W9V0E3M4N5P6Q7",
    "created_at": "2026-11-21T01:05:40.123456Z",
    "at": "2026-11-21T01:05:40.123456Z",
    "date": "2026-11-21",
    "month": "2026-11",
    "version": 1,
    "count": 42,
    "rank": 1,
    "cursor": None,
    "limit": 100,
    "email": "mika@example.com",
    "url": "https://daicho-objects.s3.amazonaws.com/acme/Photo.image/01KAKZ0C7SJ7W9V0E3M4N5P6Q7"
    "?X-Amz-Expires=3600",
    "headers": {"Content-Type": "image/jpeg", "Content-Length": "245760", "If-None-Match": "*"},
    "If-Match": '"3"',
    "If-None-Match": '"3"',
}
"""Values by the names that the library gives, or that mean the same in every domain."""

_OPAQUE = ("cursor", "Idempotency-Key")
"""Text without an example: only an answer of the API can give it, or each request needs its own."""

_SAMPLES = {"boolean": True, "array": [], "object": {}, "null": None}
_INSTANT = "2026-11-21T01:05:40.123456Z"
_FORMATS = {
    "date-time": _INSTANT,
    "date": "2026-11-21",
    "time": "09:30:00",
    "duration": "PT1H",
    "decimal": "12.50",
}
_TYPES: Mapping[str, Any] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}
_MISSING: Any = object()
Schema = Mapping[str, Any]


@dataclass
class Examples:
    """Values by domain and name, over the schemas of a description."""

    values: Mapping[str, Mapping[str, Any]]
    schemas: dict[str, Any] = field(default_factory=dict)

    def add(self, document: dict[str, Any]) -> None:
        """Give every schema, body, answer and parameter an example."""
        self.schemas = document["components"]["schemas"]
        operations = [entry for path in document["paths"].values() for entry in path.values()]
        used = (
            (name, entry["tags"][0]) for entry in operations for name in self._list_schemas(entry)
        )
        for name, domain in (*used, *((name, "") for name in self.schemas)):
            schema = self.schemas[name]
            if "properties" in schema or "$ref" in schema:
                schema.setdefault("examples", [self.make_example(schema, domain)])
        for operation in operations:
            self._show(operation)

    def make_example(self, schema: Schema, domain: str, name: str = "") -> Any:
        """A value that a schema admits, for the field or parameter ``name`` of a domain."""
        given = self._find_given(schema, domain, name)
        if given is not _MISSING:
            return given
        if "$ref" in schema:
            return self.make_example(self._resolve_reference(schema), domain, name)
        if "anyOf" in schema:
            return self.make_example(schema["anyOf"][0], domain, name)
        if "properties" in schema:
            return {
                key: self.make_example(subschema, domain, key)
                for key, subschema in schema["properties"].items()
            }
        if schema.get("additionalProperties") is True:  # fields of any name and type
            return {}
        if schema.get("additionalProperties"):
            return {"name": self.make_example(schema["additionalProperties"], domain)}
        match schema.get("type"):
            case "array" if "items" in schema:
                return [self.make_example(schema["items"], domain)] * schema.get("minItems", 1)
            case "string":
                return _make_text(schema, name)
            case "integer" | "number":
                return _make_number(schema)
            case kind:
                return _SAMPLES.get(str(kind), {})

    def _show(self, operation: dict[str, Any]) -> None:
        domain = operation["tags"][0]
        for parameter in operation.get("parameters", ()):
            value = self.make_example(parameter["schema"], domain, parameter["name"])
            if value != UNKNOWN:
                parameter["example"] = value
        for content in self._list_contents(operation):
            content.setdefault("example", self.make_example(content["schema"], domain))

    def _list_contents(self, operation: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The contents of the request and the answers. Problems have their own examples."""
        for message in (operation.get("requestBody", {}), *operation["responses"].values()):
            content = message.get("content", {}).get("application/json")
            if content and "schema" in content:
                yield content

    def _list_schemas(self, value: Any) -> Iterator[str]:
        """The schemas that a value refers to; the schemas that these refer to come first."""
        match value:
            case {"$ref": str(reference)} if "/schemas/" in reference:
                name = reference.rsplit("/", 1)[1]
                if "examples" not in self.schemas[name]:
                    yield from self._list_schemas(self.schemas[name])
                yield name
            case dict():
                for member in value.values():
                    yield from self._list_schemas(member)
            case list():
                for element in value:
                    yield from self._list_schemas(element)

    def _find_given(self, schema: Schema, domain: str, name: str) -> Any:
        """The value that the domain, the field, the library or a default gives, or `_MISSING`."""
        example = self.values.get(domain, {}).get(name, _MISSING)
        # A query for one element of a set uses the set's name.
        for candidate in (example, *(example[:1] if isinstance(example, list) else ())):
            if self._is_valid_for(candidate, schema):
                return candidate
        target = self._resolve_reference(schema) if "$ref" in schema else schema
        for listed in ("examples", "enum"):
            if target.get(listed):
                return target[listed][0]
        if self._is_valid_for(COMMON.get(name, _MISSING), target):
            return COMMON[name]
        for keyword in ("const", "default"):
            if target.get(keyword, "") != "":
                return target[keyword]
        return _MISSING

    def _is_valid_for(self, value: Any, schema: Schema) -> bool:
        if "$ref" in schema:
            return self._is_valid_for(value, self._resolve_reference(schema))
        if "anyOf" in schema:
            return any(self._is_valid_for(value, option) for option in schema["anyOf"])
        if "enum" in schema or "const" in schema:
            return value in schema.get("enum", [schema.get("const")])
        kind = _TYPES.get(str(schema.get("type")))
        return kind is not None and isinstance(value, kind) and _is_within_limits(value, schema)

    def _resolve_reference(self, schema: Schema) -> Schema:
        target: Schema = self.schemas[schema["$ref"].rsplit("/", 1)[1]]
        return target


def _make_text(schema: Schema, name: str) -> str:
    """The name of the field as a word, as long as it has to be; UNKNOWN if a pattern forbids it."""
    if schema.get("format") in _FORMATS:
        return _FORMATS[schema["format"]]
    words = name.replace("_", " ").strip().capitalize()
    if not words or name in _OPAQUE:
        return UNKNOWN
    shortest = schema.get("minLength", 0)
    text = (words * max(1, math.ceil(shortest / len(words))))[: schema.get("maxLength")]
    return text if _is_within_limits(text, schema) else UNKNOWN


def _make_number(schema: Schema) -> int | float:
    """1, or the number next to it that the limits admit."""
    low = max(schema.get("minimum", -math.inf), schema.get("exclusiveMinimum", -math.inf) + 1)
    high = min(schema.get("maximum", math.inf), schema.get("exclusiveMaximum", math.inf) - 1)
    number: int | float = min(max(1, low), high)
    step = schema.get("multipleOf")
    return math.ceil(number / step) * step if step else number


def _is_within_limits(value: Any, schema: Schema) -> bool:
    if isinstance(value, str):
        length_ok = schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", math.inf)
        return length_ok and re.search(schema.get("pattern", ""), value) is not None
    if isinstance(value, int | float):
        low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
        above = schema.get("exclusiveMinimum", -math.inf)
        below = schema.get("exclusiveMaximum", math.inf)
        return bool(low <= value <= high and above < value < below)
    return True
