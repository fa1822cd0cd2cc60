"""The generations of a stack, the states of its declarations, and its rebuild. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daicho.layout.backfill_state import BackfillState, render_instance
from daicho.plan import Ledger
from daicho.plan.changes import compare_ledgers, cut_ledger
from daicho.rebuild.job import RebuildJob
from daicho.release.instance_states import InstanceState, list_instance_states

UNFINISHED = (InstanceState.BUILDING, InstanceState.UNPROVEN, InstanceState.APPLIED)
"""The states that a rebuild ends."""


def list_generations(ledger: Ledger) -> list[dict[str, Any]]:
    """Each generation, newest first by entity, with what it changed in words."""
    return [
        {
            "entity": entity,
            "generation": generation.number,
            "changes": _describe_changes(ledger, entity, earlier.number, generation.number)
            if earlier
            else [],
        }
        for entity in sorted(ledger.entities)
        for generations in [ledger.list_generations(entity)]
        for earlier, generation in reversed(
            list(zip((None, *generations[:-1]), generations, strict=True))
        )
    ]


def list_declarations(
    ledger: Ledger, states: Mapping[str, BackfillState], job: RebuildJob | None
) -> list[dict[str, Any]]:
    """The instances of all declarations. An unknown generation has no plan, so it is left out."""
    return [
        {
            "entity": entity,
            "name": status.declaration,
            "instance": render_instance((status.declaration, status.since)),
            "state": str(status.state),
            "rebuild": describe_rebuild(job)
            if job and entity in job.targets and status.state in UNFINISHED
            else None,
        }
        for entity in sorted(ledger.entities)
        for state in [states.get(entity)]
        for generation in ledger.list_generations(entity)
        if generation.number == (state.newest if state else ledger.newest_generation(entity).number)
        for status in list_instance_states(generation.plan, state, ledger)
    ]


def describe_rebuild(job: RebuildJob) -> dict[str, Any] | None:
    """The progress of a rebuild; None if it is over."""
    if job.state == "succeeded":
        return None
    return {
        "job": job.id,
        "state": job.state,
        "phase": job.phase,
        "done": job.seen,
        "total": job.total or None,
        "paused": job.state == "paused",
        "reason": job.reason or None,
    }


def _describe_changes(ledger: Ledger, entity: str, before: int, after: int) -> list[str]:
    earlier, later = (cut_ledger(ledger, {entity: number}) for number in (before, after))
    return [change.sentence for change in compare_ledgers(earlier, later)]
