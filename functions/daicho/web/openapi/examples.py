"""Examples for the description: a plausible value for each body and parameter.

A package of domains may have an ``examples.json``. It has values by the name of a domain, or "" for
all domains, and by the name of the field or parameter. If it has no value, or one that does not
fit, the value is made from the schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

ALL = ""
UNKNOWN = "…"
_SAMPLES = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}, "null": None}
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
        for name, domain in (*used, *((name, ALL) for name in self.schemas)):
            schema = self.schemas[name]
            if "properties" in schema or "$ref" in schema:
                schema.setdefault("examples", [self.make_example(schema, domain)])
        for operation in operations:
            self._show(operation)

    def make_example(self, schema: Schema, domain: str, name: str = "") -> Any:
        """A value that a schema admits: the example of its name, or of the schema."""
        example = self._find_known(domain, name)
        # A query for one element of a set uses the set's name.
        for candidate in (example, *(example[:1] if isinstance(example, list) else ())):
            if candidate is not _MISSING and self._is_valid_for(candidate, schema):
                return candidate
        if "$ref" in schema:
            return self.make_example(self._resolve_reference(schema), domain, name)
        for listed in ("examples", "enum"):
            if schema.get(listed):
                return schema[listed][0]
        for keyword in ("const", "default"):
            if keyword in schema:
                return schema[keyword]
        if "anyOf" in schema:
            return self.make_example(schema["anyOf"][0], domain, name)
        if "properties" in schema:
            return {
                key: self.make_example(subschema, domain, key)
                for key, subschema in schema["properties"].items()
            }
        if schema.get("additionalProperties"):
            return {"name": self.make_example(schema["additionalProperties"], domain)}
        if schema.get("type") == "array" and "items" in schema:
            return [self.make_example(schema["items"], domain)] * schema.get("minItems", 1)
        if schema.get("type") == "string":
            moment = schema.get("format") == "date-time"
            return "2026-11-21T01:05:40.123456Z" if moment else UNKNOWN
        return _SAMPLES.get(str(schema.get("type")), {})

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

    def _find_known(self, domain: str, name: str) -> Any:
        return self.values.get(domain, {}).get(name, self.values.get(ALL, {}).get(name, _MISSING))

    def _is_valid_for(self, value: Any, schema: Schema) -> bool:
        if "$ref" in schema:
            return self._is_valid_for(value, self._resolve_reference(schema))
        if "anyOf" in schema:
            return any(self._is_valid_for(value, option) for option in schema["anyOf"])
        if "enum" in schema or "const" in schema:
            return value in schema.get("enum", [schema.get("const")])
        kind = _TYPES.get(str(schema.get("type")))
        return kind is not None and isinstance(value, kind)

    def _resolve_reference(self, schema: Schema) -> Schema:
        target: Schema = self.schemas[schema["$ref"].rsplit("/", 1)[1]]
        return target
