"""Computes the fields of an item that is replaced, changed or restored. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from daicho.declare.entity import Entity, get_values
from daicho.errors import Invalid
from daicho.items import mapper
from daicho.layout.scales import SCALES, replace_scales, select_scales
from daicho.layout.sections import MANIFEST
from daicho.plan import EntityPlan, Ledger
from daicho.storage.attributes import AttributeValue, Image

Fields = dict[str, AttributeValue]


def merge_immutable_fields(
    entity: type[Entity], plan: EntityPlan, image: Image, existing: Image
) -> Fields:
    """The fields of ``image`` as they replace ``existing``; frozen fields are kept."""
    fields = read_own_fields(entity, image)
    frozen = mapper.list_frozen_fields(entity, plan)
    kept = {name: dict(existing[name]) for name in frozen if name in existing}
    if SCALES not in image and SCALES not in existing:
        return fields | kept
    return dict(replace_scales(fields | kept, kept.keys(), select_scales(existing, kept.keys())))


def read_own_fields(entity: type[Entity], image: Image) -> Fields:
    """What of an image comes from the entity: its fields, their scales and the sections."""
    names = (*entity.fields_, MANIFEST, SCALES)
    return {name: dict(image[name]) for name in names if name in image}


def apply_changes(
    entity: type[Entity], ledger: Ledger, existing: Image, changes: Mapping[str, Any]
) -> Fields:
    """The fields of an item with some of them changed, and all others, migrated.

    Raises:
        Invalid: names the field.
    """
    plan = ledger.current_generation(entity.__name__).plan
    for name in (name for name in changes if name in entity.fields_):
        if entity.fields_[name].role == "computed":
            raise Invalid("is computed: leave it out", field=name)
    item, split_field = mapper.to_item(entity, existing, ledger), entity.split_field_
    old_values = get_values(item)
    values = old_values | dict(changes)
    if split_field is not None:
        values[split_field.name] = {}  # not changed here: the stored value is copied below
    new_values = _validate(entity, values)
    key_fields = plan.key.fields
    fields = mapper.to_field_image(entity, new_values)
    for name, spec in entity.fields_.items():
        if spec.frozen or (name in key_fields and name != plan.key.moves):
            if name in changes and new_values[name] != old_values[name]:
                raise Invalid("is set once, when the item is created", field=name)
            if name in existing:
                fields[name] = dict(existing[name])
    for name in (MANIFEST, split_field.name) if split_field is not None else ():
        if name in existing:
            fields[name] = dict(existing[name])
    return fields


def read_fields(entity: type[Entity], version: Image, ledger: Ledger) -> Fields:
    """The fields of an old version, as they may be written now.

    Raises:
        Invalid: a value that was valid then is not valid any more; names the field.
    """
    values = get_values(mapper.to_item(entity, version, ledger))
    return mapper.to_field_image(entity, _validate(entity, values))


def _validate(entity: type[Entity], values: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return get_values(entity(**values))
    except ValidationError as error:
        first = error.errors()[0]
        raise Invalid(first["msg"], field=".".join(map(str, first["loc"]))) from error
