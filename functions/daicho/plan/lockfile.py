"""Generations: past plans, each with its number, in a committed lock file.

Every change to the items that an image derives is a new generation (EXACTNESS rule 3): the stream
path derives an image by the plan of the generation that wrote it. `append_generations` makes one;
`check_locked` checks, at import, that no declaration has changed without one.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from daicho.errors import DeclarationError
from daicho.plan.decisions import NO_DECISIONS, Decisions
from daicho.plan.instances import (
    can_be_derived,
    classify_kind,
    list_declarations,
    list_retiring,
    number_declarations,
)
from daicho.plan.ledger import FieldPlan, Generation, Ledger, list_kinds
from daicho.plan.migrations import (
    check_kept,
    check_migrations,
    find_lost,
    list_ended,
    list_new_migrations,
    number_migrations,
)
from daicho.plan.model import EntityPlan, KeyPlan
from daicho.plan.stored_fields import check_fields, list_stored_fields, record_fields


def check_locked(
    compiled: Iterable[EntityPlan],
    ledger: Ledger,
    fields: Mapping[str, Mapping[str, FieldPlan]] | None = None,
) -> Ledger:
    """Return ``ledger`` for code that declares this.

    The declarations of an entity must equal its newest generation, or an earlier one of which the
    newest still derives everything: code that was rolled back. It then writes that generation, and
    the newer ledger shows the stream how images of the newer generations are derived.

    Raises:
        DeclarationError: a declaration changed, came or went without a new generation.
    """
    written: dict[str, int] = {}
    for plan in compiled:
        generations = ledger.entities.get(plan.name, ())
        if not generations:
            _refuse_unnumbered(plan.name)
        newest = generations[-1].plan
        changed = _find_first_change(plan, newest)
        earlier = _find_derived_generation(plan, generations) if changed else None
        declared = None if fields is None else fields[plan.name]
        lost = find_lost(plan, newest, None if earlier is None else declared or ())
        if lost is not None:
            raise DeclarationError(lost)
        if earlier is not None:
            written[plan.name] = earlier.number
        elif changed:
            _refuse_unnumbered(changed)
        elif declared is not None and not _can_retire(newest, list_kinds(declared)):
            _refuse_unnumbered(f"what retires of {plan.name}")
    return ledger if written == ledger.written else dataclasses.replace(ledger, written=written)


def append_generations(
    compiled: Iterable[EntityPlan],
    ledger: Ledger,
    decisions: Decisions = NO_DECISIONS,
    fields: Mapping[str, Mapping[str, FieldPlan]] | None = None,
) -> Ledger:
    """Add a generation for each entity that changed; unchanged declarations keep theirs.

    Entities that are no longer declared keep their generations: their items may still be there. So
    do entities whose declarations equal an earlier generation that is still derived, unless the
    developer decided to revert them: the code was rolled back.

    Args:
        compiled: what the declarations compile to, not numbered.
        ledger: the generations so far.
        decisions: of the developer, about instances.
        fields: all fields of each entity, by name; without it, those that declarations read.

    Raises:
        DeclarationError: a key changed, so stored items would not be found under the new one.
            Versions by pointer were introduced or removed. Stored items would lack a required
            field, or could not be read any more. A declaration would have two instances that
            retire. A decision has no effect. A migration is lost, or would change what earlier
            generations read.
    """
    entities, plans = dict(ledger.entities), list(compiled)
    decisions.check_entities(plan.name for plan in plans)
    for plan in plans:
        generations = entities.get(plan.name, ())
        if plan.name in decisions.reverted:
            _check_returning(plan, generations)
        if not generations:
            numbered = number_declarations(plan, None, 1, decisions)
            entities[plan.name] = (Generation(1, number_migrations(numbered, None, 1, ())),)
            continue
        newest = generations[-1]
        _check_key(plan, newest.plan)
        _check_versions(plan, newest.plan)
        declared = None if fields is None else fields[plan.name]
        if declared is not None:
            _check_declared_fields(plan, newest.plan, declared, ledger)
        kinds = None if declared is None else list_kinds(declared)
        if not _find_first_change(plan, newest.plan):
            if not decisions.list_names(plan.name) and _can_retire(newest.plan, kinds):
                continue
        elif plan.name not in decisions.reverted and not list_ended(
            plan, newest.plan, decisions.list_disabled(plan.name)
        ):
            earlier = _find_derived_generation(plan, generations)
            if earlier is not None:  # the code was rolled back
                _check_nothing_decided(plan.name, decisions, earlier.number, newest.number)
                continue
        if plan.name not in decisions.reverted:
            check_kept(plan, newest.plan, decisions.list_disabled(plan.name))
        check_migrations(plan, [each.plan for each in generations], declared)
        number = newest.number + 1
        numbered = number_declarations(plan, newest.plan, number, decisions, kinds)
        stored = list_stored_fields(plan.name, ledger)
        numbered = number_migrations(numbered, newest.plan, number, stored)
        entities[plan.name] = (*generations, Generation(number, numbered))
    recorded = record_fields(fields or {}, ledger)
    return Ledger(entities, ledger.project, recorded, events=ledger.events)


def _check_declared_fields(
    plan: EntityPlan, newest: EntityPlan, declared: Mapping[str, FieldPlan], ledger: Ledger
) -> None:
    """Check the declared fields, except for those that a new migration fills."""
    filled = {n for each in list_new_migrations(plan, newest) for n in each.fields}
    check_fields(plan.name, declared, ledger, filled)


def write_lock_file(ledger: Ledger, path: Path) -> None:
    """Write the lock file, byte for byte alike for alike ledgers."""
    path.write_text(json.dumps(ledger.to_json(), indent=1) + "\n", encoding="utf-8")


def _normalise_key(plan: EntityPlan) -> tuple[KeyPlan, tuple[str, ...]]:
    """What locates items: the key but for ``moves``, and how its fields are rendered."""
    kinds = tuple(classify_kind(plan.fields.get(name, "str")) for name in plan.key.fields)
    return dataclasses.replace(plan.key, moves=None), kinds


def _refuse_unnumbered(changed: str) -> NoReturn:
    raise DeclarationError(f"{changed} changed without a new generation; run daicho generation")


def _check_returning(plan: EntityPlan, generations: Sequence[Generation]) -> None:
    changes = [_find_first_change(plan, each.plan) for each in generations]
    if all(changes) or not changes[-1]:
        raise DeclarationError(
            f"{plan.name} does not return to an earlier generation; remove --revert"
        )


def _find_derived_generation(
    plan: EntityPlan, generations: Sequence[Generation]
) -> Generation | None:
    """The newest generation that declares this, if the newest of all derives all that it reads."""
    derived = generations[-1].plan.derived_instances
    for generation in reversed(generations):
        if not _find_first_change(plan, generation.plan):
            return generation if generation.plan.declared_instances <= derived else None
    return None


def _can_retire(newest: EntityPlan, kinds: Mapping[str, str] | None) -> bool:
    """Whether items still have what the instances that retire read."""
    return kinds is None or all(
        can_be_derived(newest, instance, kinds) for instance in list_retiring(newest).values()
    )


def _check_nothing_decided(entity: str, decisions: Decisions, earlier: int, newest: int) -> None:
    """Refuse decisions about an entity whose declarations equal an earlier generation."""
    names = decisions.list_names(entity)
    if names:
        raise DeclarationError(
            f"{', '.join(names)}: nothing can be decided, because the declarations of {entity} "
            f"equal generation {earlier} of {newest}, like code that was rolled back. Use the code "
            f"of generation {newest}, or undo what followed: daicho generation --revert {entity}"
        )


def _check_key(plan: EntityPlan, before: EntityPlan) -> None:
    """Refuse another key, or key fields that are rendered in another way."""
    if _normalise_key(plan) == _normalise_key(before):
        return
    raise DeclarationError(
        f"{plan.name}.key changed: its items would not be found under the new one; "
        "declare another entity, export the items, and load them as items of that one "
        "(while nothing is deployed: daicho generation --unreleased)"
    )


def _check_versions(plan: EntityPlan, before: EntityPlan) -> None:
    """Versions by copy may be introduced or removed: the base item holds all in both cases."""
    if plan.versions != before.versions and "pointer" in (plan.versions, before.versions):
        raise DeclarationError(
            f"{plan.name}.versions changed: by pointer the content of an item stands elsewhere, "
            "where the items that there are would not be found; declare another entity, and move "
            "them (while nothing is deployed: daicho generation --unreleased)"
        )


def _find_first_change(new: EntityPlan, old: EntityPlan) -> str | None:
    """The name of a declaration that differs, or None."""
    declared, before = _describe_plan(new), _describe_plan(old)
    for kind, name in (*declared, *before):
        if declared.get((kind, name)) != before.get((kind, name)):
            return f"{new.name}.{name}"
    kinds = {name: old.fields.get(name) for name in new.fields}
    return f"{new.name}" if dict(new.fields) != kinds else None


def _describe_plan(plan: EntityPlan) -> dict[tuple[str, str], object]:
    """All that a plan declares, without its numbers, by kind and name."""
    described: dict[tuple[str, str], object] = {
        ("declaration", name): dataclasses.replace(declaration, since=0)
        for name, declaration in list_declarations(plan).items()
    }
    described |= {("", name): getattr(plan, name) for name in ("key", "expires", "versions")}
    if plan.split is not None:
        described["split", plan.split] = True
    return described | {("migration", each.name): each.fields for each in plan.migrations}
