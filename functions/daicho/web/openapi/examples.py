"""Examples for the description: of each body and parameter a value that somebody would send.

A package of domains may hold ``examples.json``: values by a domain's name, and under "" for all, by
the field's or parameter's. What is not in it, or would not fit, is made up from the schema.
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
        operations = [each for path in document["paths"].values() for each in path.values()]
        used = ((name, each["tags"][0]) for each in operations for name in self._list_schemas(each))
        for name, domain in (*used, *((name, ALL) for name in self.schemas)):
            schema = self.schemas[name]
            if "properties" in schema or "$ref" in schema:
                schema.setdefault("examples", [self.make_example(schema, domain)])
        for operation in operations:
            self._show(operation)

    def make_example(self, schema: Schema, domain: str, name: str = "") -> Any:
        """A value that a schema admits: what is known of its name, or its own example."""
        known = self._find_known(domain, name)
        # One of a set is asked for by the set's name.
        for each in (known, *(known[:1] if isinstance(known, list) else ())):
            if each is not _MISSING and self._is_valid_for(each, schema):
                return each
        if "$ref" in schema:
            return self.make_example(self._resolve_reference(schema), domain, name)
        for listed in ("examples", "enum"):
            if schema.get(listed):
                return schema[listed][0]
        for given in ("const", "default"):
            if given in schema:
                return schema[given]
        if "anyOf" in schema:
            return self.make_example(schema["anyOf"][0], domain, name)
        if "properties" in schema:
            return {
                n: self.make_example(each, domain, n) for n, each in schema["properties"].items()
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
        """What is sent and what is answered, but problems: those have theirs."""
        for each in (operation.get("requestBody", {}), *operation["responses"].values()):
            found = each.get("content", {}).get("application/json")
            if found and "schema" in found:
                yield found

    def _list_schemas(self, value: Any) -> Iterator[str]:
        """The schemas that something refers to, what those refer to first."""
        match value:
            case {"$ref": str(reference)} if "/schemas/" in reference:
                name = reference.rsplit("/", 1)[1]
                if "examples" not in self.schemas[name]:
                    yield from self._list_schemas(self.schemas[name])
                yield name
            case dict():
                for each in value.values():
                    yield from self._list_schemas(each)
            case list():
                for each in value:
                    yield from self._list_schemas(each)

    def _find_known(self, domain: str, name: str) -> Any:
        return self.values.get(domain, {}).get(name, self.values.get(ALL, {}).get(name, _MISSING))

    def _is_valid_for(self, value: Any, schema: Schema) -> bool:
        if "$ref" in schema:
            return self._is_valid_for(value, self._resolve_reference(schema))
        if "anyOf" in schema:
            return any(self._is_valid_for(value, each) for each in schema["anyOf"])
        if "enum" in schema or "const" in schema:
            return value in schema.get("enum", [schema.get("const")])
        kind = _TYPES.get(str(schema.get("type")))
        return kind is not None and isinstance(value, kind)

    def _resolve_reference(self, schema: Schema) -> Schema:
        found: Schema = self.schemas[schema["$ref"].rsplit("/", 1)[1]]
        return found
