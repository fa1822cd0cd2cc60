"""The routes of a project by their kinds, found from its declarations and their operations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

from daicho.declare.aggregates import Aggregate, Counter
from daicho.declare.entity import Entity
from daicho.declare.expires import Expires
from daicho.declare.keys import Edge, Key
from daicho.declare.listings import Listing
from daicho.declare.registry import Daicho
from daicho.declare.results import VoteResult
from daicho.declare.searches import Search
from daicho.web.http.operation import Operation, QueryVariant, list_variables
from daicho.web.routes.builder import build_operations
from daicho.web.routes.series import has_series
from daicho.web.schema import models

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
    def versioned(self) -> list[type[Entity]]:
        """The entities whose versions are kept."""
        return [entity for entity in self.entities if entity.versioned_]

    @property
    def split(self) -> list[type[Entity]]:
        """The entities with sections."""
        return [entity for entity in self.entities if entity.split_field_]

    @property
    def with_objects(self) -> list[type[Entity]]:
        """The entities with objects in S3."""
        return [entity for entity in self.entities if entity.object_fields_]

    @property
    def archived(self) -> list[type[Entity]]:
        """The entities whose items are archived when they expire."""
        return [
            entity
            for entity in self.entities
            if any(
                isinstance(declared, Expires) and declared.archive
                for declared in entity.declarations_.values()
            )
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
