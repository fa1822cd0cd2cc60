"""Brings the image of an item to a newer generation by the project's field migrations. Pure.

An item of an older generation reads as migrated, and a touch stores the same values. So the item
reads the same before and after the touch. Only functions that this code has can do it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from itertools import groupby
from typing import Any

from daicho.errors import UnmigratableError
from daicho.plan import EntityPlan, FieldPlan, Generation, Ledger, MigrationPlan
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, Image, get_key
from daicho.storage.scales import find_scales, replace_scales, restore_scales

_KINDS = {"str": "S", "int": "N", "decimal": "N", "bool": "BOOL", "set": "SS"}
"""The attribute values of fields by their kinds, of those that are not checked further."""


def list_pending(plan: EntityPlan, generation: int) -> list[MigrationPlan]:
    """The migrations of a plan that an image of an earlier generation needs, oldest first.

    A base item that only points at its newest version has no fields to migrate.
    """
    pending = [each for each in plan.migrations if each.since > generation]
    return sorted(pending, key=lambda each: each.since)


def read_migrated(ledger: Ledger, entity: str, image: Image) -> Image:
    """An image of an entity's item as this code reads it.

    An image without a generation is a part of an item that needs no migration.

    Raises:
        UnmigratableError: see `migrate_image`.
    """
    if entity not in ledger.migrated or "gen" not in image:
        return image
    return migrate_image(ledger, entity, image, ledger.current_generation(entity))


def migrate_image(ledger: Ledger, entity: str, image: Image, to: Generation) -> Image:
    """An image with the fields and the number of a newer generation, if that has migrations.

    Raises:
        UnmigratableError: a migration fails, returns what its fields do not take, or this code
            lacks it.
    """
    if not to.plan.migrations:
        return image
    pending = list_pending(to.plan, attributes.get_integer(image, "gen") or 0)
    if not pending:
        return image
    migrated = image
    for _, group in groupby(pending, key=lambda each: each.since):
        before, changed = migrated, dict(migrated)
        for each in group:
            result = _compute_fields(ledger, entity, each, before)
            kept = {name: value for name, value in changed.items() if name not in result}
            scales: dict[str, int] = {}
            for name, value in result.items():
                scales |= find_scales(name, value)
            changed = replace_scales({**kept, **attributes.to_image(result)}, result.keys(), scales)
        migrated = changed
    fields = ledger.fields.get(entity, {})
    for name in {name for each in pending for name in each.fields}:
        declared = fields.get(name)
        if declared is not None and not declared.removed:
            _check_value(entity, name, declared, migrated)
    return {**migrated, "gen": attributes.to_value(to.number)}


def _compute_fields(
    ledger: Ledger, entity: str, plan: MigrationPlan, image: Image
) -> dict[str, Any]:
    """The fields that a migration changes, each with its value; None for no value."""
    id = f"{entity}.{plan.name}"
    lost = ledger.functions.get(id)
    if lost is None:
        raise UnmigratableError(f"this code lacks the migration {id}, which {entity} needs")
    own_names = {*ledger.fields.get(entity, {}), "created_at"}
    own = {name: value for name, value in image.items() if name in own_names}
    try:
        result = dict(lost(restore_scales(attributes.from_image(own), image, {})))
        attributes.to_image(result)
    except Exception as error:  # whatever it is: only the project knows the function
        where = get_key(image)
        raise UnmigratableError(f"{id} fails for {where.pk} {where.sk}: {error!r}") from error
    if unknown := result.keys() - set(plan.fields):
        raise UnmigratableError(f"{id} returns {', '.join(sorted(unknown))}, not in its writes=")
    return result


def _check_value(entity: str, name: str, declared: FieldPlan, image: Image) -> None:
    """Refuse a value that the entity could not read. Absent is what has a default, or is None."""
    value, key = image.get(name), get_key(image)
    where = f"{entity}.{name} of {key.pk} {key.sk}"
    if value is None or "NULL" in value:
        if declared.required:
            raise UnmigratableError(f"{where} is required, and its migration gives no value")
        return
    if not _is_of_kind(declared.kind, value):
        raise UnmigratableError(f"{where} is no {declared.kind}, but its migration gives {value}")
    is_plain = declared.kind in ("str", "int", "bool")
    if is_plain and declared.literals and attributes.from_value(value) not in declared.literals:
        raise UnmigratableError(f"{where} is {value}, which is no value of its Literal")


def _is_of_kind(kind: str, value: AttributeValue) -> bool:
    if kind in _KINDS and _KINDS[kind] not in value:
        return False
    match kind:
        case "int":
            number = attributes.parse_number(value["N"])
            return number == number.to_integral_value()
        case "date":
            return _is_same_text(value, lambda text: dt.date.fromisoformat(text).isoformat())
        case "datetime":
            return _is_same_text(
                value, lambda text: keys.render_instant(dt.datetime.fromisoformat(text))
            )
    return True


def _is_same_text(value: AttributeValue, render: Callable[[str], str]) -> bool:
    """Whether a text is written as the library writes it, so that it sorts in keys."""
    try:
        return bool(render(value["S"]) == value["S"])
    except (KeyError, ValueError):
        return False
