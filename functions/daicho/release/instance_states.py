"""The state of each instance of an entity in a stage, and which one answers (rule 26): pure.

The lock file lists which instances exist. The backfill item shows which of them include every item.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Literal

from daicho.layout.backfill_state import BackfillState, is_complete, render_instance
from daicho.plan import AggregatePlan, CounterPlan, EntityPlan, Ledger, ListingPlan, UniquePlan
from daicho.plan.instances import (
    DeclarationPlan,
    can_answer_for,
    list_declarations,
    list_retiring,
)
from daicho.plan.model import DerivedPlan
from daicho.runtime.frozen_dataclasses import dataclass

DeclarationKind = Literal["search", "listing", "aggregate", "counter", "unique", "migration"]

_KINDS: dict[type[DeclarationPlan], DeclarationKind] = {
    ListingPlan: "listing",
    AggregatePlan: "aggregate",
    CounterPlan: "counter",
    UniquePlan: "unique",
}


class InstanceState(StrEnum):
    """The state of an instance; the value is how it is printed."""

    SERVING = "serving"
    """It is declared, includes every item, and answers."""
    UNPROVEN = "serving, may lack items"
    """It answers, but the table has no backfill item, so it is unknown which items it includes."""
    BUILDING = "building"
    """It is declared and does not include every item: it does not answer."""
    RETIRING = "retiring"
    """It is derived further, and its successor answers; or it was removed."""
    RETIRING_ANSWERS = "retiring, still answers"
    """It is derived further, and answers until its successor is complete."""
    DISABLED = "disabled"
    """Nothing derives it any more; a purge deletes what the table has of it."""
    PURGED = "purged"
    """The table has nothing of it."""
    APPLIED = "applied when items are read"
    """It is a field migration, and the rebuild has not stored what it computes in all items."""
    STORED = "stored in all items"
    """It is a field migration that no base item needs any more."""

    @property
    def answers(self) -> bool:
        """Whether queries are answered by an instance in this state."""
        return self in (
            InstanceState.SERVING,
            InstanceState.UNPROVEN,
            InstanceState.RETIRING_ANSWERS,
        )


@dataclass(frozen=True)
class InstanceStatus:
    """An instance, ``declaration@since``, and its state in a stage."""

    declaration: str
    kind: DeclarationKind
    since: int
    state: InstanceState


def list_instance_states(
    plan: EntityPlan, state: BackfillState | None, ledger: Ledger
) -> list[InstanceStatus]:
    """The state of each instance that a generation declares or retires, in order of name.

    Then follow those that the stage has disabled, and the field migrations. ``state``: the backfill
    item of the entity in the stage; None if it has none.
    """
    declared, retiring = list_declarations(plan), list_retiring(plan)
    statuses: list[InstanceStatus] = []
    for name in sorted({*declared, *retiring}):
        answering = find_answering(plan, name, state, ledger)
        if name in declared:
            found = _find_declared_state(plan, declared[name], answering, state, ledger)
            statuses.append(_describe(declared[name], found))
        if name in retiring:
            still = answering is retiring[name]
            found = InstanceState.RETIRING_ANSWERS if still else InstanceState.RETIRING
            statuses.append(_describe(retiring[name], found))
    statuses += _list_disabled_states(plan, state, ledger)
    for each in plan.migrations:
        is_stored = state is not None and state.oldest >= each.since
        found = InstanceState.STORED if is_stored else InstanceState.APPLIED
        statuses.append(InstanceStatus(each.name, "migration", each.since, found))
    return statuses


def _list_disabled_states(
    plan: EntityPlan, state: BackfillState | None, ledger: Ledger
) -> Iterator[InstanceStatus]:
    """The instances that the stage has disabled, and that this generation does not derive."""
    ended: dict[str, DeclarationPlan] = {
        render_instance((name, declaration.since)): declaration
        for generation in ledger.list_generations(plan.name)
        for declarations in (list_declarations(generation.plan), list_retiring(generation.plan))
        for name, declaration in declarations.items()
        if (name, declaration.since) not in plan.derived_instances
    }
    for instance in sorted(ended.keys() & (state.disabled if state else ())):
        purged = state is not None and instance in state.purged
        yield _describe(ended[instance], InstanceState.PURGED if purged else InstanceState.DISABLED)


def find_answering(
    plan: EntityPlan, name: str, state: BackfillState | None, ledger: Ledger
) -> DeclarationPlan | None:
    """The instance that answers queries of a declaration; None if it is being built, or removed.

    It is the one that `daicho.query.instance_chooser` chooses for a query of the API. A fast
    counter has no items, so it always answers.
    """
    current = list_declarations(plan).get(name)
    if current is None or isinstance(current, CounterPlan):
        return current
    known = state or BackfillState.from_item(plan.name, None, ledger)
    older = list_retiring(plan).get(name)
    candidates: list[DerivedPlan] = [current]
    candidates += [older] if older is not None and can_answer_for(older, current) else []
    for candidate in candidates:
        if is_complete((name, candidate.since), known, ledger):
            return candidate
    return None if state else current


def list_incomplete(
    plan: EntityPlan, state: BackfillState, ledger: Ledger
) -> frozenset[tuple[str, int]]:
    """The instances that a generation derives and that lack items, each with its ``since``."""
    return frozenset(
        instance for instance in plan.derived_instances if not is_complete(instance, state, ledger)
    )


def _find_declared_state(
    plan: EntityPlan,
    declared: DeclarationPlan,
    answering: DeclarationPlan | None,
    state: BackfillState | None,
    ledger: Ledger,
) -> InstanceState:
    if answering is not declared:
        return InstanceState.BUILDING
    if state is None and not isinstance(declared, CounterPlan):
        known = BackfillState.from_item(plan.name, None, ledger)
        if not is_complete((declared.name, declared.since), known, ledger):
            return InstanceState.UNPROVEN
    return InstanceState.SERVING


def _describe(declaration: DeclarationPlan, state: InstanceState) -> InstanceStatus:
    kind = _KINDS.get(type(declaration), "search")
    return InstanceStatus(declaration.name, kind, declaration.since, state)
