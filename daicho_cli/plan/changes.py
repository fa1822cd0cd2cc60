"""What a deployment changes in a stage, by entity, and the routes of each declaration: pure.

The lock file of the checkout is compared with the generations that the stage has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from daicho.declare.domain import find_total_count
from daicho.declare.registry import Daicho
from daicho.layout.backfill_state import BackfillState
from daicho.plan import EntityPlan, Ledger
from daicho.plan.changes import Effect, InstanceChange, compare_ledgers, cut_ledger
from daicho.plan.instances import list_declarations
from daicho.rebuild.item_touch import compute_touched
from daicho.rebuild.kept_amounts import (
    has_expired_items,
    is_in_archive,
    list_incomplete_kept,
)
from daicho.rebuild.requests import is_outdated
from daicho.release.instance_states import find_answering, list_incomplete
from daicho.release.states import StageStates
from daicho.runtime.clock import utc_now
from daicho.storage.attributes import Image
from daicho.web.http.operation import Operation, QueryVariant
from daicho.web.routes.builder import build_operations
from daicho_cli.generate.access_patterns import list_queries


def list_declaration_routes(daicho: Daicho) -> dict[str, tuple[str, ...]]:
    """The routes by declaration: ``{"User.search": ("GET /users?name=",)}``.

    They are those that answer with the declaration, the domains' functions that query it, and
    creations that are refused above a number of items.

    Raises:
        DeclarationError: a route cannot be mounted.
    """
    functions = {
        f"{domain.name}.{route.function.__name__}": list_queries(route.function)
        for domain in daicho.domains
        for route in domain.routes
    }
    counted = {
        f"{resource.entity.__name__}.POST": find_total_count(resource.entity)
        for domain in daicho.domains
        for resource in domain.resources
        if resource.max_items is not None
    }
    found: dict[str, dict[str, None]] = {}
    for operation in build_operations(daicho):
        for variant in operation.variants:
            for declaration in _list_declarations(variant, functions, counted):
                found.setdefault(declaration, {})[_render_route(operation, variant)] = None
    return {declaration: tuple(names) for declaration, names in found.items()}


def _list_declarations(
    variant: QueryVariant,
    functions: Mapping[str, list[str]],
    counted: Mapping[str, str | None],
) -> Iterator[str]:
    """The declarations that a query reads: ``Entity.declaration``, without the mode of the query.

    Verbs and keys are among them: they are no names of declarations that are derived.
    """
    for query in functions.get(variant.name, [variant.name]):
        yield ".".join(query.split(".")[:2])
    if count := counted.get(variant.name):
        yield f"{variant.name.partition('.')[0]}.{count}"


def _render_route(operation: Operation, variant: QueryVariant) -> str:
    parameters = str(variant) if variant.required else ""
    return f"{operation.method} {operation.path}{parameters}"


EMPTY_STAGE = StageStates({}, is_recorded=False, is_empty=True)
"""A stage before its first deployment."""
ADDED = frozenset({Effect.ADDED, Effect.COUNTER_ADDED, Effect.MIGRATED})
REWRITES = frozenset({Effect.MIGRATED, Effect.KEPT_LONGER, Effect.KEPT_SHORTER})
"""What changes stored items themselves."""
REMOVED = frozenset(
    {
        Effect.REMOVED,
        Effect.COUNTER_REMOVED,
        Effect.ENDED,
        Effect.DROPPED,
        Effect.DISABLED,
        Effect.MIGRATION_ENDED,
    }
)


@dataclass(frozen=True)
class DeclarationChange:
    """An effect on a declaration, and the routes that it concerns.

    ``routes``: those that query the declaration from now on. ``is_being_built``: after the
    deployment they answer 503, until the new instance includes all items.
    """

    change: InstanceChange
    routes: tuple[str, ...] = ()
    is_being_built: bool = False

    @property
    def description(self) -> str:
        """What happens to the declaration in this stage, without its name."""
        change = self.change
        if self.is_being_built and change.effect in (Effect.REPLACED, Effect.REVERTED):
            return (
                f"changes: neither @{change.old} nor @{change.new} includes all items of the stage"
            )
        return change.description

    @property
    def symbol(self) -> str:
        """``+`` for a new declaration, ``-`` for what is removed, ``~`` for a changed one."""
        if self.change.effect in ADDED:
            return "+"
        return "-" if self.change.effect in REMOVED else "~"


@dataclass(frozen=True)
class EntityChange:
    """An entity of which another generation is written after the deployment.

    ``before``: the generation that the stage has, 0 for none. ``after``: the one that is written.
    ``incomplete``: the instances that lack items afterwards, by name and ``since``: a rebuild makes
    them complete. ``plan``: the new generation. ``archived``: those of them to which a rebuild adds
    archived rows, and ``unarchived``: those that lack items which expired without the archive.
    ``is_outdated``: stored items may need a field migration, or another expiry. ``compute``: gives
    the image of an item after its touch.
    """

    entity: str
    before: int
    after: int
    plan: EntityPlan
    changes: tuple[DeclarationChange, ...] = ()
    incomplete: frozenset[tuple[str, int]] = field(default_factory=frozenset)
    archived: tuple[str, ...] = ()
    unarchived: tuple[str, ...] = ()
    is_outdated: bool = False
    compute: Callable[[Image], Image] = field(default=dict, compare=False)

    @property
    def rewriting(self) -> set[str]:
        """The field migrations that are new, and ``expires`` if the retention is."""
        return {each.change.declaration for each in self.changes if each.change.effect in REWRITES}

    @property
    def is_new(self) -> bool:
        """Whether the stage has no item of the entity."""
        return not self.before

    @property
    def is_rolled_back(self) -> bool:
        """Whether the declarations equal an earlier generation than that of the stage."""
        return self.after < self.before

    @property
    def needs_rebuild(self) -> bool:
        """Whether the new generation derives or stores something that existing items lack."""
        return (bool(self.incomplete) or self.is_outdated) and not self.is_new


def list_deployed(ledger: Ledger, stage: StageStates) -> dict[str, int]:
    """The newest generation of each entity that the stage has.

    A table from before there were backfill items may have any generation: then it is the oldest,
    so that every change is listed. An entity that the stage does not have is left out.
    """
    if stage.is_recorded or stage.is_empty:
        return {entity: state.newest for entity, state in stage.states.items()}
    return {
        entity: stage.states[entity].newest
        if entity in stage.states
        else ledger.list_generations(entity)[0].number
        for entity in sorted({*ledger.list_types(), *stage.states})
    }


def list_entity_changes(
    ledger: Ledger, stage: StageStates, routes: Mapping[str, tuple[str, ...]]
) -> list[EntityChange]:
    """The entities that change, in order of name.

    ``ledger``: of the checkout, with the generations that its code writes. ``routes``: by
    ``Entity.declaration``.
    """
    deployed = list_deployed(ledger, stage)
    written = {entity: ledger.current_generation(entity) for entity in ledger.list_types()}
    after = cut_ledger(ledger, {entity: each.number for entity, each in written.items()})
    effects = compare_ledgers(cut_ledger(ledger, deployed), after)
    states = stage.plan_release(ledger)
    changes: list[EntityChange] = []
    for entity, generation in written.items():
        before = deployed.get(entity, 0)
        if generation.number == before or ledger.newest_generation(entity).number < before:
            continue  # nothing changes, or the deployment is refused
        is_forward = generation.number > before
        own = [each for each in effects if each.entity == entity and is_forward]
        incomplete = list_incomplete(generation.plan, states[entity], ledger)
        kept = sorted(incomplete & list_incomplete_kept(states[entity], ledger))
        changes.append(
            EntityChange(
                entity,
                before,
                generation.number,
                generation.plan,
                tuple(_describe_changes(own, generation.plan, states[entity], ledger, routes)),
                incomplete,
                tuple(
                    instance[0]
                    for instance in kept
                    if has_expired_items(entity, instance, ledger)
                    and is_in_archive(entity, instance, ledger)
                ),
                tuple(
                    instance[0] for instance in kept if not is_in_archive(entity, instance, ledger)
                ),
                is_forward and is_outdated(ledger, states[entity]),
                partial(compute_touched, ledger, generation=generation, now=utc_now()),
            )
        )
    return changes


def _describe_changes(
    changes: Iterable[InstanceChange],
    plan: EntityPlan,
    state: BackfillState,
    ledger: Ledger,
    routes: Mapping[str, tuple[str, ...]],
) -> Iterator[DeclarationChange]:
    """The effects with their routes, which are named at the first effect on a declaration."""
    declared = list_declarations(plan)
    named: set[str] = set()
    for change in changes:
        name = change.declaration
        if name not in declared or name in named:
            yield DeclarationChange(change)
            continue
        named.add(name)
        is_being_built = find_answering(plan, name, state, ledger) is None
        yield DeclarationChange(change, routes.get(f"{plan.name}.{name}", ()), is_being_built)
