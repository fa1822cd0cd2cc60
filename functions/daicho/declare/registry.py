"""The one composition root of what is declared: every domain, compiled."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from functools import cached_property
from types import ModuleType, NoneType
from typing import Any

from daicho.declare.domain import Domain
from daicho.declare.entity import Entity
from daicho.declare.fields import FieldSpec
from daicho.declare.keys import check_copies
from daicho.errors import DeclarationError
from daicho.plan import (
    NO_DECISIONS,
    Decisions,
    EntityPlan,
    FieldPlan,
    Ledger,
    append_generations,
    check_locked,
)


class Daicho:
    """The composition root: all domains, and the plan that they compile to."""

    def __init__(self, *domains: Domain) -> None:
        self.domains = domains
        names = [entity.__name__ for entity in self.entities]
        duplicate = next((name for name in names if names.count(name) > 1), None)
        if duplicate:
            raise DeclarationError(f"two entities are called {duplicate}")
        check_copies(self.entities)

    @classmethod
    def discover(cls, package: ModuleType) -> Daicho:
        """Every module of ``package`` that holds a ``domain``, in order of name.

        Raises:
            DeclarationError: a module without one.
        """
        domains: list[Domain] = []
        for module_info in sorted(
            pkgutil.iter_modules(package.__path__), key=lambda info: info.name
        ):
            module = importlib.import_module(f"{package.__name__}.{module_info.name}")
            domain = getattr(module, "domain", None)
            if not isinstance(domain, Domain):
                raise DeclarationError(f"{module.__name__} holds no domain: domain = Domain(...)")
            domains.append(domain)
        return cls(*domains)

    @cached_property
    def entities(self) -> tuple[type[Entity], ...]:
        """All entities, in order of domain."""
        return tuple(entity for domain in self.domains for entity in domain.entities)

    @property
    def examples(self) -> Mapping[str, Mapping[str, Any]]:
        """Values for the API's description, by domain and the name of a field or parameter."""
        return {domain.name: domain.examples for domain in self.domains}

    @property
    def plans(self) -> Iterable[EntityPlan]:
        """What the declarations compile to, not numbered."""
        return (plan for domain in self.domains for plan in domain.plans)

    def check_locked(self, ledger: Ledger) -> Ledger:
        """``ledger``, if it ends with what is declared; else DeclarationError."""
        return check_locked(self.plans, ledger, self.declared_fields)

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
        """``ledger`` with a new generation for what changed (``make generation``).

        Raises:
            DeclarationError: see `daicho.plan.append_generations`.
        """
        return append_generations(self.plans, ledger, decisions, self.declared_fields)

    def get_entity(self, name: str) -> type[Entity]:
        """The entity called ``name``.

        Raises:
            KeyError: there is none.
        """
        return {entity.__name__: entity for entity in self.entities}[name]


def _describe_literals(spec: FieldSpec) -> tuple[Any, ...]:
    """The values of a ``Literal`` as in the lock file, in no order; empty for any other field."""
    if spec.literals is None:
        return ()
    plain = (str, int, NoneType)
    values = [value if isinstance(value, plain) else repr(value) for value in spec.literals]
    return tuple(sorted(values, key=repr))
