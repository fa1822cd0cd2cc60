"""Fields of stored items: which changes of a field leave every item readable.

An item keeps a value until it is written again with a new one. A field that is removed is only
ignored: its values are still stored, and are read again when the field is declared again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from daicho.errors import DeclarationError
from daicho.plan.ledger import FieldPlan, Ledger

READABLE = frozenset({("int", "decimal"), ("date", "str"), ("datetime", "str")})
"""Pairs of kinds: each stored value of the first one can be read as the second one, and has the
same text in a key. A stored day is no instant: it has no time zone, and its text is shorter."""


def check_fields(
    entity: str, fields: Mapping[str, FieldPlan], ledger: Ledger, filled: Collection[str] = ()
) -> None:
    """Check that stored items can be read by the declared ``fields`` of an entity.

    ``filled``: the names of those that a new migration computes for stored items.

    Raises:
        DeclarationError: stored items may have no value of a required field, or one that cannot be
            read any more.
    """
    stored = list_stored_fields(entity, ledger)
    for name, declared in fields.items():
        if entity in ledger.fields and name not in filled:
            _check_presence(f"{entity}.{name}", declared, stored.get(name))
        if name in stored:
            _check_kind(f"{entity}.{name}", declared.kind, stored[name])
            if name not in filled:
                _check_literals(f"{entity}.{name}", declared, stored[name])


def record_fields(
    fields: Mapping[str, Mapping[str, FieldPlan]], ledger: Ledger
) -> dict[str, Mapping[str, FieldPlan]]:
    """The fields in the lock file after a change: the declared ones, and all that were removed."""
    recorded = dict(ledger.fields)
    for entity, declared in fields.items():
        has_literals = any(field.literals is not None for field in declared.values())
        removed = {
            name: FieldPlan(
                earlier.kind,
                required=False,
                removed=True,
                literals=earlier.literals or (() if has_literals else earlier.literals),
            )
            for name, earlier in ledger.fields.get(entity, {}).items()
            if name not in declared and entity in ledger.entities
        }
        recorded[entity] = {**declared, **removed}
    return recorded


def list_stored_fields(entity: str, ledger: Ledger) -> dict[str, FieldPlan]:
    """The fields of which stored items may have a value, by name.

    An older lock file does not record removed fields. The plans of its generations have at least
    those that a declaration read.
    """
    stored: dict[str, FieldPlan] = {}
    if entity in ledger.entities:
        newest = ledger.newest_generation(entity).plan.fields
        stored = {
            name: FieldPlan(kind, required=False, removed=name not in newest)
            for generation in ledger.list_generations(entity)
            for name, kind in generation.plan.fields.items()
        }
    return {**stored, **ledger.fields.get(entity, {})}


def _check_presence(name: str, declared: FieldPlan, stored: FieldPlan | None) -> None:
    """Refuse a required field that items may lack."""
    if not declared.required or (stored is not None and stored.required):
        return
    change = "was optional"
    if stored is None:
        change = "is new"
    elif stored.removed:
        change = "was removed, is declared again"
    raise DeclarationError(
        f"{name} {change} and required, but stored items may lack it, and a read of them would "
        f"violate the published schema; give it a default: {name.partition('.')[2]}: ... = "
        "field(default=...), let it be None, or fill it by a migration"
    )


def _check_kind(name: str, kind: str, stored: FieldPlan) -> None:
    """Refuse a type that stored values do not have."""
    if kind == stored.kind or (stored.kind, kind) in READABLE:
        return
    if stored.removed:
        raise DeclarationError(
            f"{name} was removed as {stored.kind} and is declared again as {kind}, but stored "
            f"items may still have values that cannot be read as {kind}; give it another name"
        )
    raise DeclarationError(
        f"{name} changes from {stored.kind} to {kind}, but stored items have values that cannot be "
        f"read as {kind}; declare another field beside it, write both, and remove "
        f"{name.partition('.')[2]} later"
    )


def _check_literals(name: str, declared: FieldPlan, stored: FieldPlan) -> None:
    """Refuse a ``Literal`` without a value that stored items may have."""
    if not declared.literals or stored.literals is None:
        return
    lost = [value for value in stored.literals if value not in declared.literals]
    if not stored.literals:
        change = "takes only the values of a Literal from now on"
    elif lost:
        change = f"no longer takes {', '.join(map(repr, lost))}"
    else:
        return
    raise DeclarationError(
        f"{name} {change}, but stored items may have other values, and could not be read; allow "
        "every value that was ever allowed, or declare another field beside it"
    )
