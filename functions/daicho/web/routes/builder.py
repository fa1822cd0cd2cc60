"""From a `Daicho` to operations: the rules by which declarations become routes.

- The verbs of a resource are mounted at the item's path and at its parent, the collection. Key
  fields that are not in the path are query parameters.
- The searches and listings of a resource are mounted with it, on the collection. Their parameters
  distinguish them. A search wins over a listing by a field that it searches, and over a unique
  value of it, if both take the same parameter.
- A listing by exactly one reference is mounted under the resource that it refers to, an edge at
  both ends, an aggregate without groups at ``collection/name``. The members of `refs` are mounted
  too.
- Every change takes an Idempotency-Key. This needs no declaration and no code.
- `mount` mounts a declaration elsewhere instead; a `route` replaces a query with the same path
  and parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any
from urllib.parse import parse_qsl

from daicho.declare.aggregates import Aggregate
from daicho.declare.domain import Domain, MountedDeclaration, Resource
from daicho.declare.entity import Entity
from daicho.declare.fields import FieldSpec
from daicho.declare.keys import Edge
from daicho.declare.listings import Listing
from daicho.declare.registry import Daicho
from daicho.declare.rules.unique import Unique
from daicho.declare.searches import Search
from daicho.errors import DeclarationError
from daicho.web.http.operation import Operation, get_shape, list_variables
from daicho.web.http.preconditions import IDEMPOTENCY_KEY
from daicho.web.routes import (
    access,
    custom,
    list_options,
    resources,
    several_values,
    time_window,
)
from daicho.web.routes.access import OPEN
from daicho.web.routes.declared_queries import DeclaredQuery
from daicho.web.routes.includes import Includes
from daicho.web.routes.objects import ObjectUrls
from daicho.web.routes.operation_names import name_operations
from daicho.web.routes.tenant.operations import NAMES

FreeDeclaration = Search | Listing[*tuple[Any, ...]] | Edge[*tuple[Any, ...]] | Aggregate | Unique


def build_operations(daicho: Daicho) -> list[Operation]:
    """Everything that is served, literals before variables.

    Raises:
        DeclarationError: two queries cannot be distinguished; a path names no key field.
    """
    builder = _RouteBuilder(daicho)
    for domain in daicho.domains:
        builder.mount(domain)
    additions: list[Includes | ObjectUrls] = [
        *_group_includes(daicho),
        *(ObjectUrls(entity) for entity in daicho.entities if entity.object_fields_),
    ]
    for operation in builder.operations.values():
        for addition in additions:
            addition.show(operation)
        several_values.take_single_values(operation)
        list_options.share_parameters(operation)
        _ = operation.parameters  # raises if variants use one name for different types
        _accept_idempotency_key(operation)
        if operation.method == "PUT":
            operation.reserved_values = frozenset(
                _list_reserved_values(operation, builder.operations)
            )
    entity_names = (entity.__name__ for entity in daicho.entities)
    name_operations(builder.operations.values(), entity_names, taken=NAMES)
    return sorted(builder.operations.values(), key=_sort_literals_first)


def _group_includes(daicho: Daicho) -> list[Includes]:
    includes = [include for domain in daicho.domains for include in domain.includes]
    entities = dict.fromkeys(include.entity for include in includes)
    return [
        Includes(entity, [include for include in includes if include.entity is entity])
        for entity in entities
    ]


def list_path_only_fields(daicho: Daicho, entity: type[Entity]) -> frozenset[str]:
    """The fields of an entity whose values must have an address: only paths take them."""
    return _RouteBuilder(daicho).list_path_only_fields(entity)


def _list_reserved_values(operation: Operation, others: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The literals that GET paths have in the place of this path's last variable."""
    head, _, last = operation.shape[1].rpartition("/")
    for method, shape in others:
        other_head, _, word = shape.rpartition("/")
        if last == "{}" and (method, other_head) == ("GET", head) and word != "{}":
            yield word


def _accept_idempotency_key(operation: Operation) -> None:
    """Let a change be done once under an Idempotency-Key, unless its function takes the key."""
    if operation.method == "GET" or operation.is_repeatable:
        return
    if IDEMPOTENCY_KEY.name in {header.name for header in operation.headers}:
        return
    operation.accepts_idempotency_key = True
    operation.headers = (*operation.headers, IDEMPOTENCY_KEY)


def _sort_literals_first(operation: Operation) -> tuple[list[tuple[bool, str]], str]:
    words = get_shape(operation.path).strip("/").split("/")
    return [(word == "{}", word) for word in words], operation.method


class _RouteBuilder:
    def __init__(self, daicho: Daicho) -> None:
        self.operations: dict[tuple[str, str], Operation] = {}
        self.paths: dict[str, str] = {}
        self.homes: dict[type[Entity], Resource] = {}
        self.resources = [resource for domain in daicho.domains for resource in domain.resources]
        self.mounted = [mounted for domain in daicho.domains for mounted in domain.mounted]
        for resource in self.resources:
            self.homes.setdefault(resource.entity, resource)
        self.rules = daicho.access_rules
        self.mounted_identities = {
            DeclaredQuery(mounted.declaration).identity for mounted in self.mounted
        }

    def mount(self, domain: Domain) -> None:
        """Mount a whole domain. Its own functions come last, because they replace queries."""
        for resource in domain.resources:
            access.check_chosen_keys(self.rules, resource)
            in_paths = self.list_path_only_fields(resource.entity)
            lists = OPEN
            if "LIST" in resource.verbs:
                queries: Any = getattr(resource.entity, "key")  # noqa: B009  # as in resources
                query = DeclaredQuery(queries.all)
                lists = access.choose_list_access(self.rules, query, resource.list_roles("LIST"))
            for operation in resources.build_operations(domain.name, resource, in_paths, lists):
                self._add(access.show_access(self.rules, resource.entity.__name__, operation))
        for resource in domain.resources:
            self._mount_free(domain.name, resource)
        for mounted in domain.mounted:
            self._add(self._build_mounted(domain.name, mounted))
        for route in domain.routes:
            self._add(custom.build_operation(domain.name, route, self.homes), instead=True)

    def _build_mounted(self, tag: str, mounted: MountedDeclaration) -> Operation:
        path, _, query_string = mounted.path.partition("?")
        names = tuple(name for name, _ in parse_qsl(query_string, keep_blank_values=True))
        query = DeclaredQuery(mounted.declaration, (*list_variables(path), *names), mounted.window)
        if mounted.window:
            time_window.check_window(query.owner, query.mode, mounted.path, mounted.window)
        needed = access.choose_list_access(self.rules, query, mounted.roles)
        fixed = dict(parse_qsl(query_string))
        operation = resources.build_listing(tag, path, query, needed, fixed)
        return access.show_access(self.rules, query.entity.__name__, operation)

    def _add(self, operation: Operation, *, instead: bool = False) -> None:
        # OpenAPI requires one set of variable names for a path, for all of its methods.
        path = self.paths.setdefault(get_shape(operation.path), operation.path)
        if path != operation.path:
            operation = operation.with_variables(path)
        existing = self.operations.setdefault(operation.shape, operation)
        if existing is operation:
            return
        if operation.method == "GET":
            existing.add_variants(operation, instead=instead)
        elif instead:
            self.operations[operation.shape] = operation
        else:
            raise DeclarationError(
                f"{operation.method} {operation.path} is mounted twice; "
                "remove one of the two, or give it another path"
            )

    def _mount_free(self, tag: str, resource: Resource) -> None:
        """Mount the declarations that come with a resource."""
        for declaration, query, path in self._list_free_queries(resource):
            if path.startswith(resource.collection) and list_variables(resource.collection):
                raise DeclarationError(
                    f"{declaration} spans more than {path}: "
                    f"domain.mount(path, {declaration}) mounts it"
                )
            fixed = {query.flag: "true"} if query.flag else None
            needed = access.choose_list_access(self.rules, query, resource.list_roles("LIST"))
            operation = resources.build_listing(tag, path, query, needed, fixed)
            access.show_access(self.rules, resource.entity.__name__, operation)
            if not self._is_found_by_search(operation):
                self._add(operation)

    def _list_free_queries(
        self, resource: Resource
    ) -> Iterator[tuple[FreeDeclaration, DeclaredQuery, str]]:
        for declaration in _list_free_declarations(resource.entity):
            queries = getattr(resource.entity, declaration.name)
            query = DeclaredQuery(queries.inverse if isinstance(declaration, Edge) else queries)
            path = self._choose_path(declaration, resource)
            if path is not None and query.identity not in self.mounted_identities:
                yield declaration, query, path

    def list_path_only_fields(self, entity: type[Entity]) -> frozenset[str]:
        """The fields of an entity that a path takes, and no query does; also if they are copied.

        A value without an address is refused where it is written, not where it is copied.
        """
        fields = set(self._list_own_path_only_fields(entity))
        for copier in {resource.entity for resource in self.resources} - {entity}:
            copied = self._list_own_path_only_fields(copier)
            fields |= {
                spec.source.name
                for name, spec in copier.fields_.items()
                if name in copied and spec.source is not None and spec.target.target is entity
            }
        return frozenset(fields)

    def _list_own_path_only_fields(self, entity: type[Entity]) -> frozenset[str]:
        """The fields of an entity that its key or a query takes from paths only."""
        paths: dict[object, list[str]] = {}
        for resource in self.resources:
            if resource.entity is entity:
                paths.setdefault("key", []).append(resource.path)
                for _, query, path in self._list_free_queries(resource):
                    paths.setdefault(query.identity, []).append(path)
        for mounted in self.mounted:
            query = DeclaredQuery(mounted.declaration)
            if query.entity is entity:
                paths.setdefault(query.identity, []).append(mounted.path)
        named = (map(set, map(list_variables, templates)) for templates in paths.values())
        return frozenset(chain.from_iterable(set.intersection(*variables) for variables in named))

    def _is_found_by_search(self, operation: Operation) -> bool:
        """Whether a search of the field takes its parameter: it finds whole values too."""
        existing = self.operations.get(operation.shape)
        needed = operation.variants[0].needed
        return existing is not None and any(
            variant.searched and variant.needed == needed <= set(variant.searched)
            for variant in existing.variants
        )

    def _choose_path(self, declaration: FreeDeclaration, resource: Resource) -> str | None:
        """The path at which a declaration is mounted with a resource, or None."""
        collection = resource.collection
        match declaration:
            case Search() | Unique():
                return collection
            case Listing():
                parts = declaration.partition
                reference = parts[0].field if len(parts) == 1 and not parts[0].bucket else None
                under = reference and self._find_item_path(reference)
                return f"{under}/{_last_word(collection)}" if under else collection
            case Edge():
                near, far = declaration.parts
                under, home = self._find_item_path(far), self.homes.get(near.target)
                return f"{under}/{_last_word(home.collection)}" if under and home else None
            case Aggregate():
                has_one_group = not declaration.by and not declaration.within
                return f"{collection}/{declaration.name}" if has_one_group else None

    def _find_item_path(self, reference: FieldSpec) -> str | None:
        """The path of the items that a reference refers to, if the path has one variable."""
        home = self.homes.get(reference.target)
        if home is None or len(list_variables(home.path)) != 1:
            return None
        return f"{home.collection}/{{{reference.name}}}"


def _list_free_declarations(entity: type[Entity]) -> Iterator[FreeDeclaration]:
    """The declarations that may be mounted free, searches first."""
    for kind in (Search, Unique, Listing, Edge, Aggregate):
        for declaration in entity.declarations_.values():
            if isinstance(declaration, kind):
                yield declaration


def _last_word(collection: str) -> str:
    return collection.rsplit("/", 1)[1]
