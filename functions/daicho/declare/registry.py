"""The one composition root of what is declared: every domain, compiled."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from types import ModuleType, NoneType
from typing import Any

from daicho.declare.domain import Domain
from daicho.declare.entity import Entity
from daicho.declare.fields import FieldSpec
from daicho.declare.rules.access import AccessRule, build_default_rules
from daicho.declare.subscribers import MAX_SUBSCRIBERS, Subscriber
from daicho.errors import DeclarationError
from daicho.plan import (
    NO_DECISIONS,
    Decisions,
    EntityPlan,
    FieldPlan,
    Ledger,
    Migration,
    append_generations,
    check_locked,
    load_migrations,
)
from daicho.plan.events import EventPlan, check_events
from daicho.plan.migrations import add_migrations


class Daicho:
    """The composition root: all domains, and the plan that they compile to."""

    def __init__(self, *domains: Domain, migrations: Mapping[str, Migration] | None = None) -> None:
        """``migrations``: the field migrations, by id.

        Raises:
            DeclarationError: two entities have one name, or a migration cannot be applied.
        """
        self.domains = domains
        self.migrations = dict(migrations or {})
        names = [entity.__name__ for entity in self.entities]
        duplicate = next((name for name in names if names.count(name) > 1), None)
        if duplicate:
            raise DeclarationError(f"two entities are called {duplicate}; rename one of them")
        for each in self.migrations.values():
            self._check_migration(each)
        self._check_subscribers()

    @classmethod
    def discover(cls, package: ModuleType, migrations: str = "") -> Daicho:
        """Every module of ``package`` that holds a ``domain``, in order of name.

        ``migrations``: the name of the package of field migrations; empty for none.

        Raises:
            DeclarationError: a module without one, or a migration that cannot be applied.
        """
        domains: list[Domain] = []
        for module_info in sorted(
            pkgutil.iter_modules(package.__path__), key=lambda info: info.name
        ):
            module = _import_domain(f"{package.__name__}.{module_info.name}")
            domain = getattr(module, "domain", None)
            if not isinstance(domain, Domain):
                raise DeclarationError(f"{module.__name__} holds no domain: domain = Domain(...)")
            domains.append(domain)
        return cls(*domains, migrations=load_migrations(migrations))

    @cached_property
    def entities(self) -> tuple[type[Entity], ...]:
        """All entities, in order of domain."""
        return tuple(entity for domain in self.domains for entity in domain.entities)

    @cached_property
    def access_rules(self) -> Mapping[str, AccessRule]:
        """Who may read and write, by the name of the entity; only where that is declared."""
        rules = build_default_rules(self.entities)
        for domain in self.domains:
            rules |= domain.access_rules
        return rules

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that routes, access rules and rules of changes name, in order of name."""
        names = [
            roles
            for rule in self.access_rules.values()
            for roles in (rule.reading_roles, rule.writing_roles)
        ]
        names += [tuple(entity.rules_.roles) for entity in self.entities]
        for domain in self.domains:
            names += [roles for each in domain.resources for roles in each.roles.values()]
            names += [mounted.roles for mounted in domain.mounted]
            names += [route.roles for route in domain.routes]
        return tuple(sorted({role for roles in names for role in roles}))

    @property
    def examples(self) -> Mapping[str, Mapping[str, Any]]:
        """Values for the API's description, by domain and the name of a field or parameter."""
        return {domain.name: domain.examples for domain in self.domains}

    @property
    def plans(self) -> Iterable[EntityPlan]:
        """What the declarations compile to, not numbered."""
        plans = (plan for domain in self.domains for plan in domain.plans)
        return (add_migrations(plan, self.migrations.values()) for plan in plans)

    def check_locked(self, ledger: Ledger) -> Ledger:
        """``ledger``, if it ends with what is declared; else DeclarationError.

        The result has the migrations of this code.
        """
        checked = check_locked(self.plans, ledger, self.declared_fields)
        return replace(checked, functions=self.migrations) if self.migrations else checked

    @property
    def declared_fields(self) -> Mapping[str, Mapping[str, FieldPlan]]:
        """All fields of each entity, by name."""
        return {
            entity.__name__: {
                name: FieldPlan(
                    spec.kind, spec.is_required_in_items, literals=_describe_literals(spec)
                )
                for name, spec in entity.fields_.items()
            }
            for entity in self.entities
        }

    def append_generations(self, ledger: Ledger, decisions: Decisions = NO_DECISIONS) -> Ledger:
        """``ledger`` with a new generation for what changed (``daicho generation``).

        Raises:
            DeclarationError: see `daicho.plan.append_generations`, and `check_events`.
        """
        check_events(self.events, ledger.events)
        ledger = append_generations(self.plans, ledger, decisions, self.declared_fields)
        return ledger if ledger.events == self.events else replace(ledger, events=self.events)

    @cached_property
    def events(self) -> Mapping[str, tuple[EventPlan, ...]]:
        """What each entity publishes."""
        return {name: each for domain in self.domains for name, each in domain.events.items()}

    @cached_property
    def subscribers(self) -> Mapping[str, Subscriber]:
        """The subscribers, by name."""
        return {each.name: each for domain in self.domains for each in domain.subscribers}

    def _check_subscribers(self) -> None:
        names = [each.name for domain in self.domains for each in domain.subscribers]
        duplicate = next((name for name in names if names.count(name) > 1), None)
        if duplicate:
            raise DeclarationError(f"two subscribers are called {duplicate!r}; give one a name=")
        if len(names) > MAX_SUBSCRIBERS:
            raise DeclarationError(
                f"there are {len(names)} subscribers, and a project has up to {MAX_SUBSCRIBERS}; "
                "let functions of another stack get published events from the bus"
            )

    def check_events(self, ledger: Ledger) -> None:
        """Check that a lock file has the declared events; not done by a running function.

        Code that was rolled back may run with a newer lock file, by which events are published.

        Raises:
            DeclarationError: an event changed, came or went.
        """
        if ledger.events != self.events:
            changed = sorted(
                n
                for n in {*ledger.events, *self.events}
                if ledger.events.get(n) != self.events.get(n)
            )
            raise DeclarationError(f"what {changed} publish changed; run daicho generation")

    def get_entity(self, name: str) -> type[Entity]:
        """The entity called ``name``.

        Raises:
            KeyError: there is none.
        """
        return {entity.__name__: entity for entity in self.entities}[name]

    def _check_migration(self, migration: Migration) -> None:
        """Refuse a migration of what is set once, or of what is not stored in the base item."""
        entity = next((e for e in self.entities if e.__name__ == migration.entity), None)
        if entity is None:
            raise DeclarationError(
                f"{migration.id}: there is no entity {migration.entity}; "
                "correct the name in @migration(...), or remove the migration"
            )
        for name in migration.fields:
            spec = entity.fields_.get(name)
            if spec is None:  # it was removed after the migration was recorded
                continue
            if spec in entity.declarations_["key"].key_fields:
                raise DeclarationError(
                    f"{migration.id} writes {spec}, a field of the key; "
                    "remove it from writes=. Export the items, and load them as another entity"
                )
            if spec.frozen or spec.role == "object":
                raise DeclarationError(
                    f"{migration.id} writes {spec}, which is set once; "
                    "remove it from writes=, or frozen=True from the field"
                )
            if spec is entity.split_field_:
                raise DeclarationError(
                    f"{migration.id} writes {spec}, whose sections are apart; "
                    "remove it from writes="
                )


def _import_domain(name: str) -> ModuleType:
    """Import a domain file.

    Raises:
        DeclarationError: it imports what does not exist.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise DeclarationError(
            f"{name} cannot be imported: {error}; name the package in the file of the setting "
            "requirements for the functions, and install it here too"
        ) from error


def _describe_literals(spec: FieldSpec) -> tuple[Any, ...]:
    """The values of a ``Literal`` as in the lock file, in no order; empty for any other field."""
    if spec.literals is None:
        return ()
    plain = (str, int, NoneType)
    values = [value if isinstance(value, plain) else repr(value) for value in spec.literals]
    return tuple(sorted(values, key=repr))
