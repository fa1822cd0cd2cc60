"""Generations: past plans, each with its number, in a committed lock file.

Every change to the items that an image derives is a new generation (EXACTNESS rule 3): the stream
path derives an image by the plan of the generation that wrote it. `append_generations` makes one;
`check_locked` checks, at import, that no declaration has changed without one.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from daicho.errors import DeclarationError
from daicho.plan.ledger import Generation, Ledger
from daicho.plan.model import AggregatePlan, CounterPlan, EntityPlan, KeyPlan


def check_locked(compiled: Iterable[EntityPlan], ledger: Ledger) -> Ledger:
    """Return ``ledger``, which must end with what the declarations compile to.

    Raises:
        DeclarationError: a declaration changed, came or went without a new generation.
    """
    for plan in compiled:
        generations = ledger.entities.get(plan.name)
        changed = _find_first_change(plan, generations[-1].plan) if generations else plan.name
        if changed:
            raise DeclarationError(
                f"{changed} changed without a new generation; run make generation"
            )
    return ledger


def append_generations(compiled: Iterable[EntityPlan], ledger: Ledger) -> Ledger:
    """Add a generation for each entity that changed; unchanged declarations keep theirs.

    Entities that are no longer declared keep their generations: their items may still be there.

    Raises:
        DeclarationError: a key changed, so stored items would not be found under the new one; or
            versions by pointer were introduced or removed.
    """
    entities = dict(ledger.entities)
    for plan in compiled:
        generations = entities.get(plan.name, ())
        if generations and _normalise_key(plan) != _normalise_key(generations[-1].plan):
            raise DeclarationError(
                f"{plan.name}.key changed: its items would not be found under the new one; "
                "declare another entity, and move them (while nothing is deployed: "
                "daicho generation --unreleased)"
            )
        if generations:
            _check_versions(plan, generations[-1].plan)
        if generations and not _find_first_change(plan, generations[-1].plan):
            continue
        number = generations[-1].number + 1 if generations else 1
        before = generations[-1].plan if generations else None
        entities[plan.name] = (
            *generations,
            Generation(number, _number_declarations(plan, before, number)),
        )
    return Ledger(entities, ledger.project)


def write_lock_file(ledger: Ledger, path: Path) -> None:
    """Write the lock file, byte for byte alike for alike ledgers."""
    path.write_text(json.dumps(ledger.to_json(), indent=1) + "\n", encoding="utf-8")


def _normalise_key(plan: EntityPlan) -> KeyPlan:
    """The parts of a key plan that locate items; ``moves`` has no effect on that."""
    return dataclasses.replace(plan.key, moves=None)


def _list_declarations(plan: EntityPlan) -> dict[str, Any]:
    declared: tuple[Any, ...] = (
        *plan.searches,
        *plan.listings,
        *plan.aggregates,
        *plan.counters,
    )
    return {declaration.name: declaration for declaration in declared}


def _check_versions(plan: EntityPlan, before: EntityPlan) -> None:
    """Versions by copy may be introduced or removed: the base item holds all in both cases."""
    if plan.versions != before.versions and "pointer" in (plan.versions, before.versions):
        raise DeclarationError(
            f"{plan.name}.versions changed: by pointer the content of an item stands elsewhere, "
            "where the items that there are would not be found; declare another entity, and move "
            "them (while nothing is deployed: daicho generation --unreleased)"
        )


def _strip_number(declaration: Any) -> Any:
    return dataclasses.replace(declaration, since=0)


def _find_first_change(new: EntityPlan, old: EntityPlan) -> str | None:
    """The name of a declaration that differs, or None."""
    new_declared, old_declared = _list_declarations(new), _list_declarations(old)
    for name in (*new_declared, *old_declared):
        if name not in new_declared or name not in old_declared:
            return f"{new.name}.{name}"
        if _strip_number(new_declared[name]) != _strip_number(old_declared[name]):
            return f"{new.name}.{name}"
    if new.key != old.key:
        return f"{new.name}.key"
    if new.expires != old.expires:
        return f"{new.name}.expires"
    if new.split != old.split:
        return f"{new.name}.{new.split or old.split}"
    if new.versions != old.versions:
        return f"{new.name}.versions"
    return f"{new.name}" if dict(new.fields) != dict(old.fields) else None


def _number_declarations(plan: EntityPlan, before: EntityPlan | None, number: int) -> EntityPlan:
    old = _list_declarations(before) if before else {}
    kinds_changed = before is not None and any(
        before.fields.get(name, kind) != kind for name, kind in plan.fields.items()
    )

    def numbered(declaration: Any) -> Any:
        predecessor = old.get(declaration.name)
        if isinstance(predecessor, CounterPlan) and isinstance(declaration, CounterPlan):
            # Another initial slot count does not restart it: a head holds the current number.
            predecessor = dataclasses.replace(predecessor, slots=declaration.slots)
        if isinstance(predecessor, AggregatePlan) and isinstance(declaration, AggregatePlan):
            # The time of the rollup does not affect what was counted.
            predecessor = dataclasses.replace(predecessor, rolled_up=declaration.rolled_up)
        if (
            predecessor
            and not kinds_changed
            and _strip_number(predecessor) == _strip_number(declaration)
        ):
            return predecessor
        return dataclasses.replace(declaration, since=number)

    return dataclasses.replace(
        plan,
        searches=tuple(map(numbered, plan.searches)),
        listings=tuple(map(numbered, plan.listings)),
        aggregates=tuple(map(numbered, plan.aggregates)),
        counters=tuple(map(numbered, plan.counters)),
    )
