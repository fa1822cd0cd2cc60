"""Items made from the examples of the deployed description, with what they refer to."""

from __future__ import annotations

import copy
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

import httpx

from daicho.declare.entity import Entity
from daicho.declare.fields import FieldSpec
from daicho.web.http.operation import Operation, QueryVariant, list_variables
from daicho.web.schema import models
from daicho_cli.smoke.calls import Api, RefusedError, SmokeFailure, make_key
from daicho_cli.smoke.routes import Routes

MAX_DEPTH = 4
"""Of items that refer to items."""
OBJECT = b"an object of the smoke test"


@dataclass(frozen=True)
class Item:
    """An item that was created: what the API shows of it, and its path."""

    entity: type[Entity]
    values: Mapping[str, Any]
    path: str
    etag: str = ""

    @property
    def key(self) -> dict[str, Any]:
        """The values of its key, by name: what distinguishes it in a list."""
        names = models.list_key_names(self.entity)
        return {name: self.values[name] for name in names if name in self.values}

    def is_in(self, rows: list[dict[str, Any]]) -> bool:
        """Whether a list shows it."""
        return any(self.key.items() <= row.items() for row in rows)


@dataclass
class ItemMaker:
    """Creates items over HTTP. ``description``: the OpenAPI document of the deployment."""

    api: Api
    routes: Routes
    description: Mapping[str, Any]
    created: list[Item] = field(default_factory=list)

    def create(self, entity: type[Entity], depth: int = 0, **values: Any) -> Item:
        """Create an item of an entity, by the first of its operations that accepts an example.

        ``values``: of fields, instead of those of the example.

        Raises:
            RefusedError: no operation accepts its example.
            SmokeFailure: an operation fails.
        """
        refusals = []
        for operation in self.routes.find_creations(entity):
            try:
                return self.create_by(operation, entity, depth, **values)
            except RefusedError as refusal:
                refusals.append(str(refusal))
        raise RefusedError("; ".join(refusals) or f"no operation creates a {entity.__name__}")

    def create_by(
        self, operation: Operation, entity: type[Entity], depth: int = 0, **values: Any
    ) -> Item:
        """Create an item by one operation; see `create`."""
        path, body = self.prepare(operation, entity, depth, **values)
        answer = self.api.send(operation.method, path, body=body, headers=make_key())
        item = self.read_item(operation, entity, path, answer)
        self.created.append(item)
        return item

    def prepare(
        self, operation: Operation, entity: type[Entity], depth: int = 0, **values: Any
    ) -> tuple[str, Any]:
        """The path and the body of a request that creates an item, with all that it refers to."""
        described = self._describe(operation)
        examples = {each["name"]: each.get("example") for each in described.get("parameters", ())}
        (variant,) = operation.variants
        given = dict(values)
        for name in (*list_variables(operation.path), *sorted(variant.needed)):
            if name not in given:
                spec = entity.fields_.get(name)
                given[name] = self._make_value(spec, examples.get(name), depth, unique=True)
        body = self.make_body(operation)
        if isinstance(body, dict):
            for name in list(body):
                spec = entity.fields_.get(name)
                if name in values:
                    body[name] = values[name]
                elif spec is not None and spec.role == "owner":
                    if self._names_owner(entity, spec):
                        body[name] = _make_unique(body[name])
                    else:
                        del body[name]  # it is the caller
                elif spec is not None and spec.role in ("ref", "refs", "object"):
                    body[name] = self._make_value(spec, body[name], depth, unique=False)
        return fill_path(operation, variant, given), body

    def make_body(self, operation: Operation) -> Any:
        """The example of a body in the description."""
        content = self._describe(operation).get("requestBody", {}).get("content", {})
        media = content.get("application/json", {})
        return copy.deepcopy(media.get("example"))

    def read_item(
        self, operation: Operation, entity: type[Entity], path: str, answer: httpx.Response
    ) -> Item:
        """The item that an answer shows."""
        values = answer.json()
        if operation.method == "PUT":
            return Item(entity, values, path, answer.headers.get("etag", ""))
        location = answer.headers.get("location", "")
        shown = self.routes.find_item(entity, "GET") or self.routes.find_item(entity, "PATCH")
        if not location and shown is not None:
            location = fill_path(shown, shown.variants[0], values)
        return Item(entity, values, location, answer.headers.get("etag", ""))

    def _names_owner(self, entity: type[Entity], spec: FieldSpec) -> bool:
        """Whether items of the caller alone would have one key, and a role may name others."""
        key: Any = entity.declarations_["key"]
        rule = self.routes.daicho.access_rules[entity.__name__]
        return spec in key.parts and bool(rule.writing_roles)

    def _make_value(self, spec: FieldSpec | None, example: Any, depth: int, *, unique: bool) -> Any:
        """A value for a field or a parameter.

        ``unique``: of a name, one that no other item has.
        """
        if spec is None:
            return _make_unique(example) if unique else example
        match spec.role:
            case "ref" if self.routes.find_creations(spec.target):
                return self._refer(spec, depth)
            case "refs":
                return []
            case "object":
                return {**example, "bytes": len(OBJECT)}
        is_free = unique and spec.kind == "str" and spec.literals is None
        return _make_unique(example) if is_free else example

    def _refer(self, spec: FieldSpec, depth: int) -> Any:
        """Create the item that a field refers to; its key's value."""
        if depth >= MAX_DEPTH:
            raise RefusedError(f"{spec} refers to items over {MAX_DEPTH} steps")
        target = self.create(spec.target, depth + 1)
        names = models.list_key_names(spec.target)
        if len(names) != 1:
            raise RefusedError(f"{spec} refers to an item with a key of {len(names)} fields")
        return target.values[names[0]]

    def _describe(self, operation: Operation) -> Mapping[str, Any]:
        try:
            found: Mapping[str, Any] = self.description["paths"][operation.path][
                operation.method.lower()
            ]
        except KeyError:
            name = f"{operation.method} {operation.path}"
            raise SmokeFailure(f"the deployment does not describe {name}") from None
        return found


def fill_path(operation: Operation, variant: QueryVariant, values: Mapping[str, Any]) -> str:
    """The path of an operation with its variables, and with the parameters that a query needs.

    Raises:
        RefusedError: a value is missing, or is no text, number or date.
    """
    path = operation.path
    for name in list_variables(path):
        path = path.replace(f"{{{name}}}", quote(_to_text(name, values), safe=""))
    needed = {
        parameter.name: parameter.only or _to_text(parameter.name, values)
        for parameter in variant.required
    }
    return f"{path}?{urlencode(needed, quote_via=quote)}" if needed else path


def _to_text(name: str, values: Mapping[str, Any]) -> str:
    value = values.get(name)
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or isinstance(value, dict | list) or value == "":
        raise RefusedError(f"there is no value for {name}")
    return str(value)


def _make_unique(example: Any) -> str:
    return f"smoke-{secrets.token_hex(6)}" if isinstance(example, str) else example
