"""The ledger: every generation of every entity.

The lock file ``generations.json`` holds, for each entity, every plan that images in the table may
have been derived by; the last one is the current one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from daicho.plan.disabled import Instance, list_disabled, remove_instances
from daicho.plan.events import EventPlan
from daicho.plan.migrations import Migration, explain_lost, load_migrations
from daicho.plan.model import AggregatePlan, CounterPlan, EntityPlan
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.settings import LOCK_FILE

REQUIRED, OPTIONAL, REMOVED = "required", "optional", "removed"


class NewerGenerationError(Exception):
    """An image of a generation that this code does not know yet (EXACTNESS rule 3)."""


class UnknownEntityError(Exception):
    """An image of an entity that no generation has declared."""


@dataclass(frozen=True)
class FieldPlan:
    """A field of an entity: its kind, and whether every item must have a value for it.

    ``removed``: it is no longer declared, but stored items may still have a value. ``literals``:
    the values of its ``Literal``; empty if it takes any value of its kind, None if that was not
    recorded.
    """

    kind: str
    required: bool
    removed: bool = False
    literals: tuple[Any, ...] | None = None

    @classmethod
    def parse(cls, text: str) -> FieldPlan:
        """Read what `render` wrote. It has no literals: the lock file has them apart."""
        kind, _, presence = text.partition(" ")
        return cls(kind, presence == REQUIRED, presence == REMOVED)

    def render(self) -> str:
        """The field in the lock file: ``str required``."""
        if self.removed:
            return f"{self.kind} {REMOVED}"
        return f"{self.kind} {REQUIRED if self.required else OPTIONAL}"


def list_kinds(fields: Mapping[str, FieldPlan]) -> dict[str, str]:
    """The kinds of the fields that are declared, by name."""
    return {name: field.kind for name, field in fields.items() if not field.removed}


@dataclass(frozen=True)
class Generation:
    """An entity's plan with its number."""

    number: int
    plan: EntityPlan


class _Generations(dict[str, Generation]):
    """Generations by the names of their entities."""

    def __missing__(self, name: str) -> Generation:
        raise UnknownEntityError(f"no entity is called {name!r}")


@dataclass(frozen=True)
class Ledger:
    """All generations of all entities, oldest first.

    ``project``: the name of the project that they belong to; empty in a file that names none.
    ``fields``: all fields of each entity as last declared, also those that were removed; nothing of
    an entity in a lock file from before they were recorded.
    ``written``: the generations that this code writes, of entities whose declarations equal an
    earlier generation than the newest: code that was rolled back, with the newer ledger.
    ``functions``: the migrations that this code has, by ``Entity.migration``.
    ``released``: the newest released generation of entities that were looked up in the table, as
    this code does not know a generation or an entity that it met; 0 if there was none (rule 56).
    ``events``: what each entity publishes; only entities that publish anything.
    """

    entities: Mapping[str, tuple[Generation, ...]] = field(default_factory=dict)
    project: str = ""
    fields: Mapping[str, Mapping[str, FieldPlan]] = field(default_factory=dict)
    written: Mapping[str, int] = field(default_factory=dict, compare=False)
    functions: Mapping[str, Migration] = field(default_factory=dict, compare=False)
    released: Mapping[str, int] = field(default_factory=dict, compare=False)
    events: Mapping[str, tuple[EventPlan, ...]] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path = LOCK_FILE) -> Ledger:
        """Read a lock file."""
        return cls.from_json(json.loads(path.read_text(encoding="utf-8")))

    @classmethod
    def load_newest(cls, deployed: Path) -> Ledger:
        """Read the lock file that is deployed, or that of the code if this is newer.

        Lambda does not update a function's code and its layers at the same moment.
        """
        files = [file for file in dict.fromkeys((deployed, LOCK_FILE)) if file.exists()]
        contents = dict.fromkeys(file.read_text(encoding="utf-8") for file in files)
        ledgers = [cls.from_json(json.loads(content)) for content in contents]
        if not ledgers:
            return cls.load(deployed)  # the error names the file
        return next((ledger for ledger in ledgers[1:] if ledger.continues(ledgers[0])), ledgers[0])

    def with_migrations(self, package: str) -> Ledger:
        """This ledger with the migrations in a package; itself if no package is named."""
        return replace(self, functions=load_migrations(package)) if package else self

    def with_released(self, released: Mapping[str, int]) -> Ledger:
        """This ledger with more of what was released."""
        return replace(self, released={**self.released, **released})

    def continues(self, other: Ledger) -> bool:
        """Whether this has all generations of another ledger."""
        return all(
            self.entities.get(entity, ())[: len(generations)] == generations
            for entity, generations in other.entities.items()
        )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Ledger:
        """Read what `to_json` wrote."""
        return cls(
            {
                name: tuple(
                    Generation(entry["generation"], EntityPlan.from_json(entry["plan"]))
                    for entry in generations
                )
                for name, generations in data["entities"].items()
            },
            data.get("project", ""),
            {
                name: _parse_fields(fields, data.get("literals", {}).get(name))
                for name, fields in data.get("fields", {}).items()
            },
            events={
                name: tuple(map(EventPlan.from_json, events))
                for name, events in data.get("events", {}).items()
            },
        )

    def to_json(self) -> dict[str, Any]:
        """The lock file as plain JSON values, entities in order of name."""
        return {
            **({"project": self.project} if self.project else {}),
            "entities": {
                name: [
                    {"generation": generation.number, "plan": generation.plan.to_json()}
                    for generation in self.entities[name]
                ]
                for name in sorted(self.entities)
            },
            **({"fields": self._render_fields()} if self.fields else {}),
            **({"literals": literals} if (literals := self._render_literals()) else {}),
            **({"events": self._render_events()} if self.events else {}),
        }

    def current_generation(self, name: str) -> Generation:
        """The generation that this code writes: the newest one, unless the code is older."""
        return self.current[name]

    @cached_property
    def current(self) -> Mapping[str, Generation]:
        """`current_generation` of each entity, without a call."""
        current = _Generations()
        for name, generations in self.entities.items():
            number = self.written.get(name, generations[-1].number)
            current[name] = next(each for each in generations if each.number == number)
        return current

    def newest_generation(self, name: str) -> Generation:
        """The newest generation of an entity, whatever this code writes."""
        return self.list_generations(name)[-1]

    def find_lost_migration(self, targets: Mapping[str, int]) -> str | None:
        """Why this code cannot bring items to some generations: it lacks a migration.

        None if it can. ``targets``: the generation of each entity.

        Raises:
            NewerGenerationError, UnknownEntityError: see `find_plan`.
        """
        for name, generation in targets.items():
            for each in self.find_plan(name, generation).migrations:
                if f"{name}.{each.name}" not in self.functions:
                    return explain_lost(name, each)
        return None

    def find_plan(self, name: str, generation: int) -> EntityPlan:
        """The plan by which an image of ``generation`` is read.

        Raises:
            NewerGenerationError: the code is older than the image.
            UnknownEntityError: no entity has that name, or it never had that generation, or the
                generation was never released.
        """
        generations = self.list_generations(name)
        for candidate in generations:
            if candidate.number == generation:
                return candidate.plan
        if generations[-1].number < generation <= self.released.get(name, generation):
            raise NewerGenerationError(f"{name} generation {generation}")
        raise UnknownEntityError(f"{name} has no generation {generation}")

    def find_enabled_plan(self, name: str, generation: int) -> EntityPlan:
        """The plan by which an image of ``generation`` is derived: without disabled instances.

        Raises:
            NewerGenerationError, UnknownEntityError: see `find_plan`.
        """
        plan = self._enabled_plans.get((name, generation))
        return self.find_plan(name, generation) if plan is None else plan

    def list_disabled(self, name: str) -> frozenset[Instance]:
        """The disabled instances of an entity: see `daicho.plan.disabled`."""
        return self.disabled_instances.get(name, frozenset())

    def find_aggregate(
        self, entity: str, name: str, since: int
    ) -> tuple[EntityPlan, AggregatePlan]:
        """The aggregate that a tally's key names, by the newest plan that has it.

        Raises:
            UnknownEntityError: no plan has it.
        """
        for generation in reversed(self.list_generations(entity)):
            for aggregate in generation.plan.derived_aggregates:
                if (aggregate.name, aggregate.since) == (name, since):
                    return generation.plan, aggregate
        raise UnknownEntityError(f"{entity} never had an aggregate {name!r} since {since}")

    def find_counter(self, entity: str, name: str, since: int) -> tuple[EntityPlan, CounterPlan]:
        """The fast counter that a slot's key names, by the newest plan that has it.

        Raises:
            UnknownEntityError: no plan has it.
        """
        for generation in reversed(self.list_generations(entity)):
            for counter in generation.plan.counters:
                if (counter.name, counter.since) == (name, since):
                    return generation.plan, counter
        raise UnknownEntityError(f"{entity} never had a counter {name!r} since {since}")

    def list_types(self) -> tuple[str, ...]:
        """The names of all entities."""
        return tuple(sorted(self.entities))

    @cached_property
    def disabled_instances(self) -> Mapping[str, frozenset[Instance]]:
        """The disabled instances of each entity that has any."""
        disabled = {
            entity: list_disabled([generation.plan for generation in generations])
            for entity, generations in self.entities.items()
        }
        return {entity: instances for entity, instances in disabled.items() if instances}

    @cached_property
    def derived_types(self) -> tuple[str, ...]:
        """Entities that derive anything in any generation: their records wake the projector."""
        return self._select_types(lambda plan: plan.has_derived_state)

    @cached_property
    def immediate_aggregates(self) -> frozenset[tuple[str, str, int]]:
        """Entity, name and since of the aggregates that the newest plan has rolled up at once."""
        newest = {
            (entity, aggregate.name, aggregate.since): aggregate.rolled_up
            for entity, generations in self.entities.items()
            for generation in generations
            for aggregate in generation.plan.derived_aggregates
        }
        return frozenset(
            key
            for key, rolled_up in newest.items()
            if rolled_up == "at once" and key[1:] not in self.list_disabled(key[0])
        )

    @cached_property
    def archived_types(self) -> tuple[str, ...]:
        """Entities whose expired items are archived in any generation."""
        return self._select_types(lambda plan: plan.expires is not None and plan.expires.archive)

    @cached_property
    def pointer_types(self) -> frozenset[str]:
        """Entities whose items point at their newest version. No other may become one."""
        return frozenset(self._select_types(lambda plan: plan.versions == "pointer"))

    @cached_property
    def _enabled_plans(self) -> Mapping[tuple[str, int], EntityPlan]:
        return {
            (entity, generation.number): remove_instances(
                generation.plan, self.list_disabled(entity)
            )
            for entity, generations in self.entities.items()
            for generation in generations
        }

    def _render_fields(self) -> dict[str, dict[str, str]]:
        return {
            entity: {name: fields[name].render() for name in sorted(fields)}
            for entity, fields in sorted(self.fields.items())
        }

    def _render_literals(self) -> dict[str, dict[str, list[Any]]]:
        """The literals of fields, of each entity whose literals are recorded."""
        return {
            entity: {
                name: list(fields[name].literals or ())
                for name in sorted(fields)
                if fields[name].literals
            }
            for entity, fields in sorted(self.fields.items())
            if any(field.literals is not None for field in fields.values())
        }

    def _render_events(self) -> dict[str, list[dict[str, Any]]]:
        return {
            entity: [event.to_json() for event in events]
            for entity, events in sorted(self.events.items())
        }

    @cached_property
    def migrated(self) -> frozenset[str]:
        """The entities whose current generation has field migrations."""
        return frozenset(
            name for name, generation in self.current.items() if generation.plan.migrations
        )

    @cached_property
    def settled_instances(self) -> Mapping[str, frozenset[tuple[str, int]]]:
        """Of each entity, the declared instances that all of its generations derive.

        They include every item. A newer ledger may have disabled what retires in this one (rule
        34): what this one declares retires first.
        """
        settled: dict[str, frozenset[tuple[str, int]]] = {}
        for name, generations in self.entities.items():
            derived = (generation.plan.derived_instances for generation in generations)
            settled[name] = generations[-1].plan.declared_instances.intersection(*derived)
        return settled

    def list_generations(self, name: str) -> tuple[Generation, ...]:
        """All generations of an entity, oldest first.

        Raises:
            UnknownEntityError: no entity has that name.
        """
        try:
            return self.entities[name]
        except KeyError:
            raise UnknownEntityError(f"no entity is called {name!r}") from None

    def _select_types(self, holds: Any) -> tuple[str, ...]:
        return tuple(
            name
            for name in self.list_types()
            if any(holds(generation.plan) for generation in self.entities[name])
        )


def _parse_fields(
    fields: Mapping[str, str], literals: Mapping[str, Sequence[Any]] | None
) -> dict[str, FieldPlan]:
    """The fields of an entity. ``literals``: None if the lock file does not record them."""
    parsed = {name: FieldPlan.parse(text) for name, text in fields.items()}
    if literals is None:
        return parsed
    return {
        name: replace(field, literals=tuple(literals.get(name, ())))
        for name, field in parsed.items()
    }
