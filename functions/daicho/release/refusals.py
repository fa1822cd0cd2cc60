"""Which ledgers a stage refuses (EXACTNESS rule 27): pure.

A ledger that lacks what the table contains stops the stream, and one that ends an instance too
early hides data. Both are refused before any function changes.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping

from daicho.errors import DaichoError
from daicho.layout.backfill_state import (
    BackfillState,
    is_complete,
    is_derived_by_all,
    render_instance,
)
from daicho.plan import Ledger
from daicho.plan.instances import list_declarations, list_retiring


class ReleaseRefusedError(DaichoError):
    """The ledger must not be deployed to this stage; nothing was changed."""


def list_refusals(ledger: Ledger, states: Mapping[str, BackfillState]) -> list[str]:
    """Why a ledger must not be deployed to a stage, in a sentence each; none if it may.

    ``states``: the backfill items of the stage, by entity.
    """
    return [
        refusal
        for entity in sorted(states)
        for refusal in _list_entity_refusals(ledger, states[entity])
    ]


def list_early_disables(
    ledger: Ledger, states: Mapping[str, BackfillState], now: dt.datetime, kept: dt.timedelta
) -> list[str]:
    """Instances that a ledger disables too soon after readers switched, in a sentence each.

    A cursor names its instance, and is valid until this is disabled (rule 26).

    Args:
        ledger: the one that is to be deployed.
        states: see `list_refusals`.
        now: the time.
        kept: how long an instance answers such cursors after its successor became complete.
    """
    return [
        refusal
        for entity in sorted(states.keys() & ledger.entities.keys())
        for refusal in _list_early_entity_disables(ledger, states[entity], now, kept)
    ]


def _list_early_entity_disables(
    ledger: Ledger, state: BackfillState, now: dt.datetime, kept: dt.timedelta
) -> Iterator[str]:
    if not state.completed:
        return  # readers never switched in this stage
    allowed = dt.datetime.fromisoformat(state.completed) + kept
    plans = {each.number: each.plan for each in ledger.list_generations(state.entity)}
    if now >= allowed or state.newest not in plans:
        return
    followed = list_declarations(ledger.newest_generation(state.entity).plan)
    # What the stage has disabled before may be disabled again, and what was removed has no readers.
    for name, since in sorted(
        ledger.list_disabled(state.entity) & plans[state.newest].derived_instances
    ):
        if name in followed and render_instance((name, since)) not in state.disabled:
            yield (
                f"{state.entity}.{name}@{since} ends in generation {max(plans)}, but clients may "
                f"continue lists that it began: its successor became complete at "
                f"{state.completed[:19]}Z. Deploy from {allowed:%Y-%m-%dT%H:%M:%S}Z on"
            )


def _list_entity_refusals(ledger: Ledger, state: BackfillState) -> Iterator[str]:
    entity = state.entity
    known = ledger.newest_generation(entity).number if entity in ledger.entities else 0
    if known < state.newest:
        checkout = f"{entity} generation {known}" if known else f"no {entity}"
        yield (
            f"this checkout knows {checkout}, but the table may hold images of generation "
            f"{state.newest}: deploying it would stop the stream. Take the lock file that was "
            f"deployed; to undo a declaration: daicho generation --revert {entity}"
        )
        return
    edited = [
        str(generation.number)
        for generation in ledger.list_generations(entity)
        if generation.number in state.plans
        and state.plans[generation.number] != generation.plan.digest
    ]
    if edited:
        yield (
            f"{entity} generation {', '.join(edited)} is not the one that was deployed to this "
            "stage: the lock file was edited, or is of another project. Restore it from version "
            "control"
        )
        return
    yield from list_returns(ledger, entity, state.disabled)
    yield from _list_early_ends(ledger, state)
    yield from _list_lost_migrations(ledger, state)


def list_returns(ledger: Ledger, entity: str, disabled: frozenset[str]) -> Iterator[str]:
    """Instances that are declared, although this stage has disabled them: they lack changes."""
    newest = ledger.newest_generation(entity)
    for instance in sorted(newest.plan.declared_instances):
        rendered = render_instance(instance)
        if rendered in disabled:
            yield (
                f"{entity}.{rendered} is declared in generation {newest.number}, but a "
                "deployment to this stage has disabled it, so it lacks changes. Take the lock file "
                "of that deployment; a declaration that comes back after it is a new instance: "
                f"daicho generation --revert {entity}"
            )


def _list_early_ends(ledger: Ledger, state: BackfillState) -> Iterator[str]:
    """Instances that end, although what replaces them is not complete in this stage.

    An instance that ends without ever having retired ended because items lose what it reads. The
    developer accepted that.
    """
    generations = ledger.list_generations(state.entity)
    newest = generations[-1]
    declared = list_declarations(newest.plan)
    retired = {
        (each.name, each.since)
        for generation in generations
        for each in list_retiring(generation.plan).values()
    }
    deployed = [each.plan for each in generations if state.oldest <= each.number <= state.newest]
    serving = find_declared(ledger, state)
    ended = ledger.list_disabled(state.entity) | (retired - newest.plan.derived_instances)
    for name, since in sorted(ended):
        is_derived = is_derived_by_all((name, since), deployed)
        if (name, since) in serving and (name, since) not in retired and is_derived:
            yield (
                f"{state.entity}.{name}@{since} is disabled in generation {newest.number}, but the "
                f"code of this stage answers by it. Deploy the generation after {state.newest} "
                "first"
            )
            continue
        if (name, since) not in retired:
            continue
        if (name, since) in serving:
            yield (
                f"{state.entity}.{name}@{since} ends in generation {newest.number}, but this stage "
                "has not had a generation in which it retires: requests that are answered during "
                "the deployment would miss changes. Deploy such a generation first"
            )
            continue
        if name not in declared or not is_derived:
            continue
        # What is declared now, or what retires now because it was declared before.
        followers = [each for each in newest.plan.derived_instances if each[0] == name]
        if not any(is_complete(follower, state, ledger) for follower in followers):
            yield (
                f"{state.entity}.{name}@{since} ends in generation {newest.number}, but "
                f"@{declared[name].since}, which replaces it, does not include all items of this "
                "stage yet. Deploy a generation that still derives it, until the other one is "
                "complete"
            )


def _list_lost_migrations(ledger: Ledger, state: BackfillState) -> Iterator[str]:
    """Field migrations that end, although items of this stage may still need them.

    Nothing needs one whose fields are not declared any more.
    """
    generations = ledger.list_generations(state.entity)
    kept = {(each.name, each.since) for each in generations[-1].plan.migrations}
    fields = ledger.fields.get(state.entity, {})
    declared = {name for name, field in fields.items() if not field.removed}
    ended = {each for generation in generations for each in generation.plan.migrations}
    for each in sorted(ended, key=lambda migration: (migration.since, migration.name)):
        is_needed = each.since > state.oldest and not declared.isdisjoint(each.fields)
        if is_needed and (each.name, each.since) not in kept:
            yield (
                f"{state.entity}.{each.name} ends in generation {generations[-1].number}, but this "
                f"stage may have items of generation {state.oldest}, which lack "
                f"{', '.join(each.fields)} without it. Deploy a generation that has it, and wait "
                "for the rebuild"
            )


def find_declared(ledger: Ledger, state: BackfillState) -> set[tuple[str, int]]:
    """The instances that the newest generation of a stage declares: its code may read them."""
    return {
        (name, declared.since)
        for generation in ledger.list_generations(state.entity)
        if generation.number == state.newest
        for name, declared in list_declarations(generation.plan).items()
    }
