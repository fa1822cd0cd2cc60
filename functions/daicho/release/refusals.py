"""Which ledgers a stage refuses (EXACTNESS rule 27): pure.

A ledger that lacks what the table contains stops the stream, and one that ends an instance too
early hides data. Both are refused before any function changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from daicho.errors import DaichoError
from daicho.layout.backfill_state import (
    BackfillState,
    digest_plan,
    is_complete,
    is_derived_by_all,
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
        and state.plans[generation.number] != digest_plan(generation.plan)
    ]
    if edited:
        yield (
            f"{entity} generation {', '.join(edited)} is not the one that was deployed to this "
            "stage: the lock file was edited, or is of another project. Restore it from version "
            "control"
        )
        return
    yield from _list_early_ends(ledger, state)


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
    for name, since in sorted(retired - newest.plan.derived_instances):
        if (name, since) in serving:
            yield (
                f"{state.entity}.{name}@{since} ends in generation {newest.number}, but this stage "
                "has not had a generation in which it retires: requests that are answered during "
                "the deployment would miss changes. Deploy such a generation first"
            )
            continue
        if name not in declared or not is_derived_by_all((name, since), deployed):
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


def find_declared(ledger: Ledger, state: BackfillState) -> set[tuple[str, int]]:
    """The instances that the newest generation of a stage declares: its code may read them."""
    return {
        (name, declared.since)
        for generation in ledger.list_generations(state.entity)
        if generation.number == state.newest
        for name, declared in list_declarations(generation.plan).items()
    }
