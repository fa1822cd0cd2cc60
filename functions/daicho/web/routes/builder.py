"""From a `Daicho` to operations: the rules by which declarations become routes.

- A resource's verbs stand at the item's path and at its parent, the collection. Key fields that
  are not in the path are query parameters.
- Mounted free with a resource: its searches and listings on the collection, told apart by their
  parameters (a search wins over a listing that takes the same); a listing by exactly one reference
  under the resource that it refers to; an edge at both ends; the members of `refs`; an aggregate
  without groups at ``collection/name``.
- Every change takes an Idempotency-Key, for which nothing is declared and no code written.
- `answer` mounts a declaration elsewhere instead; a `route` replaces a query with the same path
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
from daicho.declare.searches import Search
from daicho.declare.stored_objects import list_object_fields
from daicho.errors import DeclarationError
from daicho.web.http.operation import Operation, get_shape, list_variables
from daicho.web.http.preconditions import IDEMPOTENCY_KEY
from daicho.web.routes import custom, resources, time_window
from daicho.web.routes.declared_queries import DeclaredQuery
from daicho.web.routes.includes import Includes
from daicho.web.routes.objects import ObjectUrls

Free = Search | Listing[*tuple[Any, ...]] | Edge[*tuple[Any, ...]] | Aggregate


def build_operations(daicho: Daicho) -> list[Operation]:
    """Everything that is served, literals before variables.

    Raises:
        DeclarationError: two queries that nothing tells apart; a path that names no key field.
    """
    mounting = _RouteBuilder(daicho)
    for domain in daicho.domains:
        mounting.mount(domain)
    shown = _group_includes(daicho)
    located = [ObjectUrls(entity) for entity in daicho.entities if list_object_fields(entity)]
    for each in mounting.found.values():
        for besides in shown:
            besides.show(each)
        for objects in located:
            objects.show(each)
        _ = each.parameters  # one name means one thing
        _accept_idempotency_key(each)
        if each.method == "PUT":
            each.taken = frozenset(_set_taken_names(each, mounting.found))
    return sorted(mounting.found.values(), key=_sort_literals_first)


def _group_includes(daicho: Daicho) -> list[Includes]:
    shown = [each for domain in daicho.domains for each in domain.besides]
    entities = dict.fromkeys(each.entity for each in shown)
    return [Includes(entity, [s for s in shown if s.entity is entity]) for entity in entities]


def _set_taken_names(operation: Operation, others: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The literals that stand where a path ends in a variable, and are asked by GET."""
    head, _, last = operation.shape[1].rpartition("/")
    for method, shape in others:
        beside, _, word = shape.rpartition("/")
        if last == "{}" and (method, beside) == ("GET", head) and word != "{}":
            yield word


def _accept_idempotency_key(operation: Operation) -> None:
    """Let a change be done once under an Idempotency-Key, unless its function takes the key."""
    if operation.method == "GET" or IDEMPOTENCY_KEY.name in {h.name for h in operation.headers}:
        return
    operation.once = True
    operation.headers = (*operation.headers, IDEMPOTENCY_KEY)
    operation.errors = tuple(sorted({*operation.errors, 409}))


def _sort_literals_first(operation: Operation) -> tuple[list[tuple[bool, str]], str]:
    words = get_shape(operation.path).strip("/").split("/")
    return [(word == "{}", word) for word in words], operation.method


class _RouteBuilder:
    def __init__(self, daicho: Daicho) -> None:
        self.found: dict[tuple[str, str], Operation] = {}
        self.paths: dict[str, str] = {}
        self.homes: dict[type[Entity], Resource] = {}
        self.resources = [each for domain in daicho.domains for each in domain.resources]
        self.answers = [each for domain in daicho.domains for each in domain.answers]
        for resource in self.resources:
            self.homes.setdefault(resource.entity, resource)
        self.answered = {DeclaredQuery(answer.declaration).identity for answer in self.answers}

    def mount(self, domain: Domain) -> None:
        """Mount all that a domain says, its own functions last: they replace."""
        for resource in domain.resources:
            in_paths = self._in_paths_alone(resource.entity)
            for operation in resources.build_operations(domain.name, resource, in_paths):
                self._add(operation)
        for resource in domain.resources:
            self._free(domain.name, resource)
        for answer in domain.answers:
            self._add(_answered(domain.name, answer))
        for route in domain.routes:
            self._add(custom.build_operation(domain.name, route, self.homes), instead=True)

    def _add(self, operation: Operation, *, instead: bool = False) -> None:
        # One path has one set of names for its variables, whatever the method: OpenAPI wants it.
        path = self.paths.setdefault(get_shape(operation.path), operation.path)
        if path != operation.path:
            operation = operation.with_variables(path)
        known = self.found.setdefault(operation.shape, operation)
        if known is operation:
            return
        if operation.method == "GET":
            known.join(operation, instead=instead)
        elif instead:
            self.found[operation.shape] = operation
        else:
            raise DeclarationError(f"{operation.method} {operation.path} is mounted twice")

    def _free(self, tag: str, resource: Resource) -> None:
        for each, mounted, path in self._mounted_free(resource):
            if path.startswith(resource.collection) and list_variables(resource.collection):
                raise DeclarationError(
                    f"{each} spans more than {path}: domain.answer(path, {each}) mounts it"
                )
            fixed = {mounted.flag: "true"} if mounted.flag else None
            operation = resources.build_listing(tag, path, mounted, fixed)
            if not self._found_by_search(operation):
                self._add(operation)

    def _mounted_free(self, resource: Resource) -> Iterator[tuple[Free, DeclaredQuery, str]]:
        for each in _declared(resource.entity):
            asked = resources.list_key_parameters(resource.entity, each.name)
            mounted = DeclaredQuery(asked.inverse if isinstance(each, Edge) else asked)
            path = self._path_of(each, resource)
            if path is not None and mounted.identity not in self.answered:
                yield each, mounted, path

    def _in_paths_alone(self, entity: type[Entity]) -> frozenset[str]:
        """The fields of an entity that something is asked by, and always in a path."""
        paths: dict[object, list[str]] = {}
        for resource in self.resources:
            if resource.entity is entity:
                paths.setdefault("key", []).append(resource.path)
                for _, mounted, path in self._mounted_free(resource):
                    paths.setdefault(mounted.identity, []).append(path)
        for answer in self.answers:
            mounted = DeclaredQuery(answer.declaration)
            if mounted.entity is entity:
                paths.setdefault(mounted.identity, []).append(answer.path)
        named = (map(set, map(list_variables, each)) for each in paths.values())
        return frozenset(chain.from_iterable(set.intersection(*each) for each in named))

    def _found_by_search(self, operation: Operation) -> bool:
        """Whether a search takes the same parameters: by a whole value it finds it too."""
        known = self.found.get(operation.shape)
        needed = operation.choices[0].needed
        return known is not None and any(
            each.searches and each.needed == needed for each in known.choices
        )

    def _path_of(
        self,
        declared: Search | Listing[*tuple[object, ...]] | Edge[*tuple[object, ...]] | Aggregate,
        resource: Resource,
    ) -> str | None:
        """Where a declaration is mounted free; None where it is not."""
        collection = resource.collection
        match declared:
            case Search():
                return collection
            case Listing():
                parts = declared.partition
                reference = parts[0].field if len(parts) == 1 and not parts[0].bucket else None
                under = reference and self._under(reference)
                return f"{under}/{_last_word(collection)}" if under else collection
            case Edge():
                near, far = declared.parts
                under, home = self._under(far), self.homes.get(near.target)
                return f"{under}/{_last_word(home.collection)}" if under and home else None
            case Aggregate():
                alone = not declared.by and not declared.within
                return f"{collection}/{declared.name}" if alone else None

    def _under(self, reference: FieldSpec) -> str | None:
        """The path of the items that a reference refers to, if one id is all that it names."""
        home = self.homes.get(reference.target)
        if home is None or len(list_variables(home.path)) != 1:
            return None
        return f"{home.collection}/{{{reference.name}}}"


def _answered(tag: str, answer: MountedDeclaration) -> Operation:
    path, _, query = answer.path.partition("?")
    asked = tuple(name for name, _ in parse_qsl(query, keep_blank_values=True))
    mounted = DeclaredQuery(answer.declaration, (*list_variables(path), *asked), answer.window)
    if answer.window:
        time_window.check_window(mounted.owner, mounted.mode, answer.path, answer.window)
    return resources.build_listing(tag, path, mounted, dict(parse_qsl(query)))


def _declared(entity: type[Entity]) -> Iterator[Free]:
    """The declarations that may be mounted free, searches first."""
    for kind in (Search, Listing, Edge, Aggregate):
        for each in entity.declarations_.values():
            if isinstance(each, kind):
                yield each


def _last_word(collection: str) -> str:
    return collection.rsplit("/", 1)[1]
