"""Domains, and the one composition root of what is declared.

A domain is a value: entities, the routes mounted from them, and functions for the rest. Making one
registers nothing anywhere; `Daicho` is made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import cached_property
from typing import Any, Literal, TypeVar

from daicho.declare import compiler
from daicho.declare.entity import Entity
from daicho.declare.events import compile_event
from daicho.declare.rules.access import AccessRule, build_access_rule, read_verb_roles
from daicho.declare.rules.roles import RoleArgument, read_names
from daicho.declare.subscribers import Grant, Subscriber, build_subscriber
from daicho.errors import DeclarationError
from daicho.plan.events import EventPlan
from daicho.runtime.frozen_dataclasses import dataclass

Method = Literal["GET", "PUT", "POST", "PATCH", "DELETE"]
Window = Literal["minutes", "hours", "days"]
F = TypeVar("F", bound=Callable[..., Any])
VERBS = ("POST", "PUT", "GET", "PATCH", "DELETE", "LIST")


@dataclass(frozen=True)
class Resource:
    """An entity's items over HTTP: ``path`` is the item's, its parent the collection's.

    ``max_items``: the highest number of items of a tenant. ``roles``: those of each verb, of which
    a caller needs one; ``LIST`` stands for all lists and figures that come with the resource.
    """

    path: str
    entity: type[Entity]
    verbs: tuple[str, ...]
    max_items: int | None = None
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def list_roles(self, *verbs: str) -> tuple[str, ...]:
        """The roles of the first of these verbs that the resource has."""
        verb = next((verb for verb in verbs if verb in self.verbs), verbs[0])
        return self.roles.get(verb, ())

    @property
    def collection(self) -> str:
        """The path without its last component."""
        return self.path.rsplit("/", 1)[0]


@dataclass(frozen=True)
class MountedDeclaration:
    """A declaration mounted at a path of its own, instead of its usual one."""

    path: str
    declaration: Any
    window: Window | None = None
    roles: tuple[str, ...] = ()


@dataclass(frozen=True)
class Route:
    """A function of the domain behind a path; ``?a=&b=`` in it names required query parameters."""

    method: Method
    path: str
    function: Callable[..., Any]
    roles: tuple[str, ...] = ()


@dataclass(frozen=True)
class Include:
    """A function's values, shown with the rows of an entity's lists; ``optional``: on request."""

    entity: type[Entity]
    function: Callable[..., Any]
    optional: bool

    @cached_property
    def name(self) -> str:
        """The property that it is shown as, and its name in ``include=``."""
        return self.function.__name__


class Domain:
    """One system: its declarations and its routes."""

    def __init__(
        self, name: str, *entities: type[Entity], examples: Mapping[str, Any] | None = None
    ) -> None:
        """Declare a system.

        Args:
            name: its tag in the API's description.
            entities: what it stores.
            examples: values for the description, by the name of a field or parameter, where those
                that are made from types and limits are not telling enough. A field may give its
                own, which is used where this has none: ``field(examples=["OPS-7"])``.
        """
        self.name = name
        self.examples = {**_collect_examples(entities), **(examples or {})}
        self.entities = entities
        self.resources: list[Resource] = []
        self.mounted: list[MountedDeclaration] = []
        self.routes: list[Route] = []
        self.includes: list[Include] = []
        self.access_rules: dict[str, AccessRule] = {}
        self.events: dict[str, tuple[EventPlan, ...]] = {}
        self.subscribers: list[Subscriber] = []
        self.plans = tuple(compiler.compile_entity(entity) for entity in entities)

    def access(
        self,
        entity: type[Entity],
        *,
        read: RoleArgument = "tenant",
        write: RoleArgument = "tenant",
    ) -> None:
        """Restrict who may read and write the items of an entity, on every route.

        Values: ``"tenant"`` (everybody of the tenant), ``"owner"`` (the subject in the field of
        `owned_by_caller`), or names of roles. Another user's item that the caller may not read
        does not exist for it: 404.

        Raises:
            DeclarationError: see `build_access_rule`; or the entity has a rule already.
        """
        self._check_entity(entity)
        if entity.__name__ in self.access_rules:
            raise DeclarationError(f"{entity.__name__}: access is declared twice; remove one")
        self.access_rules[entity.__name__] = build_access_rule(entity, read, write)

    def publish(
        self,
        entity: type[Entity],
        *,
        when: Any,
        name: str,
        fields: Any,
        version: int = 1,
    ) -> None:
        """Publish an event for each change of an entity's items that is committed.

        ``domain.publish(Invoice, when=became(Invoice.status, "paid"), name="paid",
        fields=(Invoice.number, Invoice.total))``.

        Args:
            entity: of this domain.
            when: `created`, `deleted`, `changed(field, ...)` or `became(field, value, ...)`.
            name: part of the type of the event: ``shop.invoice.paid.v1``.
            fields: those whose values before and after the change are published.
            version: raise it if a field is removed or becomes another kind of value.

        Raises:
            DeclarationError: names the event, and what is wrong.
        """
        self._check_entity(entity)
        self._add_event(entity, compile_event(entity, name, when, fields, version))

    def on(
        self,
        entity: type[Entity],
        when: Any,
        *,
        fields: Any = (),
        name: str = "",
        grants: Iterable[Grant] = (),
        timeout_s: int = 60,
        attempts: int = 50,
    ) -> Callable[[F], F]:
        """Run a function for each change of an entity's items that is committed.

        It takes a book of the tenant, as the system, and an `Event`. It runs at least once for each
        change, and for those of an item in their order. If it raises an error, it runs again, and
        later changes of the item wait.

        Args:
            entity: whose changes; it is of this domain.
            when: `created`, `deleted`, `changed(field, ...)` or `became(field, value, ...)`.
            fields: those whose values before and after the change are in the event, with the key's.
            name: of its Lambda function and its queue; by default that of the function. With
                another name, they are others, and events that wait in the queue are lost.
            grants: what it may do besides calls of its book.
            timeout_s: of an invocation, in seconds. An event begins in its first half.
            attempts: deliveries, each six timeouts after the one before, until an event is a dead
                letter.

        Raises:
            DeclarationError: names the subscriber, and what is wrong.
        """
        self._check_entity(entity)

        def subscribe(function: F) -> F:
            subscriber = build_subscriber(entity, function, name, grants, timeout_s, attempts)
            label = subscriber.name
            self._add_event(entity, compile_event(entity, label, when, fields, 1, label))
            self.subscribers.append(subscriber)
            return function

        return subscribe

    def _check_entity(self, entity: type[Entity]) -> None:
        if entity not in self.entities:
            raise DeclarationError(
                f"{entity.__name__} is not of the domain {self.name!r}; add it: "
                f"Domain({self.name!r}, ..., {entity.__name__})"
            )

    def _add_event(self, entity: type[Entity], event: EventPlan) -> None:
        others = self.events.get(entity.__name__, ())
        if any(each.place == event.place for each in others):
            kind = "subscriber" if event.subscriber else "event"
            raise DeclarationError(
                f"the {kind} {event.name!r} of {entity.__name__} is declared twice in version "
                f"{event.version}; remove one, or give it another name"
            )
        self.events[entity.__name__] = (*others, event)

    def resource(
        self,
        path: str,
        entity: type[Entity],
        verbs: str,
        *,
        max_items: int | None = None,
        role: RoleArgument | Mapping[str, RoleArgument] = None,
    ) -> None:
        """Mount an entity's items: ``verbs`` of POST PUT GET PATCH DELETE LIST.

        ``role``: what a caller needs for all verbs, or for each verb by name. ``LIST`` is that of
        all lists and figures that are mounted with the resource; by default it is that of GET.

        Searches, listings, edges and figures of the entity are mounted with it. ``max_items``: POST
        is refused while a tenant has so many items. They are counted by the entity's `Count` of all
        items, which lags behind the writes: a caller that creates many in the same second may
        exceed the limit by a few.
        """
        verb_names = tuple(verbs.split())
        for verb in verb_names:
            if verb not in VERBS:
                raise DeclarationError(
                    f"{path}: {verb!r} is none of {' '.join(VERBS)}; "
                    "use these verbs, separated by spaces"
                )
        if entity not in self.entities:
            raise DeclarationError(
                f"{path}: {entity.__name__} is not of the domain {self.name!r}; "
                f"add it: Domain({self.name!r}, ..., {entity.__name__})"
            )
        if max_items is not None and "PUT" in verb_names:
            raise DeclarationError(
                f"{path}: PUT creates items too, and `max_items` limits only POST; "
                "remove PUT, or max_items="
            )
        if max_items is not None and find_total_count(entity) is None:
            raise DeclarationError(
                f"{path}: max_items={max_items} needs a count of all items: Aggregate(Count()); "
                f"declare total = Aggregate(Count()) in {entity.__name__}"
            )
        roles = read_verb_roles(role, verb_names, path)
        self.resources.append(Resource(path, entity, verb_names, max_items, roles))

    def mount(
        self,
        path: str,
        declaration: Any,
        *,
        window: Window | None = None,
        role: RoleArgument = None,
    ) -> None:
        """Mount a declaration at ``path`` instead of where `resource` would.

        ``window="minutes"``: of a list that is ordered by an instant, ``?minutes=`` asks for the
        last so many only. ``role``: what a caller needs, one of several if there are several.
        """
        self.mounted.append(MountedDeclaration(path, declaration, window, read_names(role, path)))

    def route(self, method: Method, path: str, *, role: RoleArgument = None) -> Callable[[F], F]:
        """Mount a function.

        Its parameters are ``book``, ``caller``, the path's and the query's, and a body. ``role``:
        what a caller needs, one of several if there are several.
        """
        roles = read_names(role, path)

        def mount(function: F) -> F:
            self.routes.append(Route(method, path, function, roles))
            return function

        return mount

    def include(self, entity: type[Entity], *, optional: bool = False) -> Callable[[F], F]:
        """Show a function's values with the rows of an entity's lists, under its name.

        It takes the book and the items of a page, and gives a value for each. ``optional``: only
        for requests with ``include=`` and its name.
        """

        def show(function: F) -> F:
            self.includes.append(Include(entity, function, optional))
            return function

        return show


def _collect_examples(entities: Iterable[type[Entity]]) -> dict[str, Any]:
    """The first example of each field that has some, by the field's name."""
    given = {
        spec.name: (spec.limits or {}).get("examples")
        for entity in entities
        for spec in entity.fields_.values()
    }
    return {name: examples[0] for name, examples in given.items() if examples}


def find_total_count(entity: type[Entity]) -> str | None:
    """The name of the aggregate that counts all of an entity's items, if there is one."""
    counts = (
        aggregate.name
        for aggregate in compiler.compile_entity(entity).aggregates
        if aggregate.measure == "count" and aggregate.where is None
        if not aggregate.by and not aggregate.within
    )
    return next(counts, None)
