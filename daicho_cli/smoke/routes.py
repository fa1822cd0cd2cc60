"""The routes of a project by their kinds, found from its declarations and their operations."""

from __future__ import annotations

import copy
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, get_args
from urllib.parse import quote, urlencode

import httpx

from daicho.declare.aggregates import Aggregate, Counter
from daicho.declare.entity import Entity
from daicho.declare.fields import FieldSpec
from daicho.declare.keys import Edge, Key
from daicho.declare.listings import Listing
from daicho.declare.registry import Daicho
from daicho.declare.results import VoteResult
from daicho.declare.searches import Search
from daicho.web.http.operation import Operation, QueryVariant, list_variables
from daicho.web.routes.builder import build_operations
from daicho.web.routes.series import has_series
from daicho.web.schema import models
from daicho_cli.smoke.calls import Api, RefusedError, SmokeFailure, make_key

CREATIONS = ("POST", "PUT")


@dataclass(frozen=True)
class Query:
    """A declared query at a path: ``mode`` is ``top``, ``all``, ``inverse``, or empty."""

    entity: type[Entity]
    declaration: Any
    mode: str
    operation: Operation
    variant: QueryVariant

    def __str__(self) -> str:
        needed = "&".join(f"{name}=" for name in sorted(self.variant.needed))
        return f"GET {self.operation.path}{'?' if needed else ''}{needed}"


@dataclass(frozen=True)
class Routes:
    """The routes of all domains."""

    daicho: Daicho

    @cached_property
    def operations(self) -> tuple[Operation, ...]:
        """Every operation of the domains."""
        return tuple(build_operations(self.daicho))

    @cached_property
    def entities(self) -> tuple[type[Entity], ...]:
        """The entities of which the API creates items, those with most verbs first.

        Of two with as many verbs, the one comes first that refers to fewer others.
        """
        creatable = [entity for entity in self.daicho.entities if self.find_creations(entity)]
        return tuple(sorted(creatable, key=self._rank))

    def _rank(self, entity: type[Entity]) -> tuple[int, int, int]:
        verbs = sum(bool(self.find_item(entity, verb)) for verb in ("GET", "PATCH", "DELETE"))
        referring = sum(spec.role in ("ref", "refs") for spec in entity.fields_.values())
        special = len(entity.object_fields_) + bool(entity.split_field_)
        return -verbs, referring, special

    def find_creations(self, entity: type[Entity]) -> list[Operation]:
        """The operations that create an item of an entity, POST first."""
        return sorted(
            (
                operation
                for operation in self.operations
                if operation.method in CREATIONS
                and operation.body is not None
                and not operation.path.endswith("/restore")
                and entity in self._list_results(operation)
            ),
            key=lambda operation: (
                operation.method != "POST",
                VoteResult in self._list_kinds(operation),
                len(operation.variables),
            ),
        )

    def find_item(self, entity: type[Entity], method: str) -> Operation | None:
        """The operation of a method on one item of an entity."""
        paths = {operation.path for operation in self._list_item_paths(entity)}
        return next(
            (each for each in self.operations if each.method == method and each.path in paths), None
        )

    def _list_item_paths(self, entity: type[Entity]) -> Iterator[Operation]:
        """The operations whose path names an item by the whole key of its entity."""
        keys = models.list_key_names(entity)
        for operation in self.operations:
            shows = operation.method in ("GET", "PUT", "PATCH") and entity in self._list_results(
                operation
            )
            variables = list_variables(operation.path)
            if shows and variables and set(variables) <= set(keys) and variables[-1] == keys[-1]:
                yield operation

    def find_queries(self, kind: type[Any], *modes: str) -> list[Query]:
        """The mounted queries of a kind of declaration, in the order of the operations."""
        return [
            query
            for query in self._queries
            if isinstance(query.declaration, kind) and query.mode in modes
        ]

    @cached_property
    def _queries(self) -> tuple[Query, ...]:
        by_name = {entity.__name__: entity for entity in self.daicho.entities}
        queries = []
        for operation in self.operations:
            for variant in operation.variants:
                name, _, rest = variant.name.partition(".")
                declared, _, mode = rest.partition(".")
                entity = by_name.get(name)
                if operation.method == "GET" and entity and declared in entity.declarations_:
                    declaration = entity.declarations_[declared]
                    queries.append(Query(entity, declaration, mode, operation, variant))
        return tuple(queries)

    @property
    def searches(self) -> list[Query]:
        """The searches."""
        return self.find_queries(Search, "")

    @property
    def lists(self) -> list[Query]:
        """The lists: those of a partition first, then listings."""
        keys = [q for q in self.find_queries(Key, "all") if not isinstance(q.declaration, Edge)]
        return [*keys, *self.listings]

    @property
    def listings(self) -> list[Query]:
        """The listings without a condition first."""
        queries = self.find_queries(Listing, "")
        return sorted(queries, key=lambda query: query.declaration.where is not None)

    @property
    def aggregates(self) -> list[Query]:
        """The aggregates: totals of one group first, then rankings."""
        queries = [
            query
            for query in self.find_queries(Aggregate, "", "top")
            if not has_series(query.declaration)
        ]
        return sorted(queries, key=lambda query: (query.mode, query.declaration.where is not None))

    @property
    def series(self) -> list[Query]:
        """The aggregates that are read from one time to another."""
        queries = self.find_queries(Aggregate, "")
        return [query for query in queries if has_series(query.declaration)]

    @property
    def edges(self) -> list[Query]:
        """The edges, as they are read from their far end."""
        return self.find_queries(Edge, "inverse")

    @property
    def archived(self) -> list[type[Entity]]:
        """The entities whose items are archived when they expire."""
        return [
            entity
            for entity in self.entities
            if any(getattr(each, "archive", False) for each in entity.declarations_.values())
        ]

    @property
    def ballots(self) -> list[tuple[type[Entity], Operation]]:
        """The entities with counters, and the operation that puts a ballot of one voter."""
        counted = [entity for entity in self.daicho.entities if has_counter(entity)]
        return [
            (entity, operation)
            for entity in counted
            for operation in self.find_creations(entity)
            if operation.method == "PUT"
        ]

    @property
    def counters(self) -> list[tuple[type[Entity], Operation]]:
        """The operations that add to a fast counter, with the entity that declares one."""
        adding = [each for each in self.operations if VoteResult in self._list_kinds(each)]
        owners = [entity for entity in self.daicho.entities if has_counter(entity)]
        return [
            (owner, each) for owner in owners for each in adding if each.tag == self._tag(owner)
        ]

    def _tag(self, entity: type[Entity]) -> str:
        return next(domain.name for domain in self.daicho.domains if entity in domain.entities)

    def _list_kinds(self, operation: Operation) -> list[Any]:
        """What an operation returns; the members of a union one by one."""
        return [kind for result in operation.returns for kind in (get_args(result) or (result,))]

    def _list_results(self, operation: Operation) -> list[type[Entity]]:
        """The entities of which an operation shows one item."""
        kinds = [kind for kind in self._list_kinds(operation) if isinstance(kind, type)]
        return [
            entity
            for entity in self.daicho.entities
            if any(issubclass(kind, models.build_item_model(entity)) for kind in kinds)
        ]


def has_counter(entity: type[Entity]) -> bool:
    """Whether an entity declares a fast counter."""
    return any(isinstance(each, Counter) for each in entity.declarations_.values())


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
