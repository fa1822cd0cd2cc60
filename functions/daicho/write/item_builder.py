"""Builds an item's whole image from a caller's values, and checks it before it is written."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from daicho.declare.entity import Entity, get_values
from daicho.declare.stored_objects import check_object_keys
from daicho.errors import Invalid, ReferenceNotFound
from daicho.items import mapper
from daicho.layout import base_item
from daicho.layout.sections import MANIFEST
from daicho.plan import Generation, Ledger
from daicho.query.key_resolver import KeyResolver
from daicho.storage import item_key
from daicho.storage.attributes import AttributeValue, Image
from daicho.write import validation

E = TypeVar("E", bound=Entity)
Fields = dict[str, AttributeValue]


@dataclass
class ItemBuilder:
    """Makes images of a tenant's items, by the newest declarations."""

    ledger: Ledger
    tenant: str
    places: KeyResolver

    def build_fields(self, item: Entity) -> Fields:
        """The attribute values of a new item, including the values copied into it.

        Raises:
            ReferenceNotFound: names the field that refers to nothing.
        """
        entity, values = type(item), get_values(item)
        copies = [spec for spec in entity.fields_.values() if spec.role == "copied"]
        fields = mapper.to_field_image(entity, values | {spec.name: None for spec in copies})
        for spec in copies:
            through: str = spec.target.name
            value = fields.get(through, mapper.NULL)
            if spec.source is None or value == mapper.NULL:
                continue
            image = self.places.find_referenced(spec, value)
            if image is None:
                target = spec.target.target.__name__
                raise ReferenceNotFound(f"there is no {target} {values[through]}", field=through)
            fields[spec.name] = image.get(spec.source.name, mapper.NULL)
        return fields | mapper.to_manifest_image(item)

    def build_image(self, entity: type[Entity], fields: Fields, created: dt.datetime) -> Fields:
        """The whole image of an item of version 1, checked.

        Raises:
            Invalid: the image cannot be stored or derived.
        """
        current = self.current_generation(entity)
        image = base_item.build_base_item(self.tenant, current, fields, created)
        validation.check_image(current.plan, image)
        check_object_keys(entity, item_key.get_key(image), current.plan.key.fields[-1])
        return image

    def merge_immutable_fields(self, entity: type[Entity], image: Image, existing: Image) -> Fields:
        """The fields of ``image`` as they replace ``existing``; frozen fields are kept."""
        names = (*entity.fields_, MANIFEST)
        fields = {name: dict(image[name]) for name in names if name in image}
        return fields | {
            name: dict(existing[name])
            for name in self.list_frozen_fields(entity)
            if name in existing
        }

    def apply_changes(self, entity: type[E], existing: Image, changes: Mapping[str, Any]) -> Fields:
        """The fields of an item with some of them changed.

        Raises:
            Invalid: names the field.
        """
        before, apart = mapper.to_item(entity, existing), entity.split_field_
        values = get_values(before) | dict(changes)
        if apart is not None:
            values[apart.name] = {}  # not changed here: the stored value is copied below
        try:
            after = get_values(entity(**values))
        except ValidationError as error:
            first = error.errors()[0]
            raise Invalid(first["msg"], field=".".join(map(str, first["loc"]))) from error
        plan = self.current_generation(entity).plan
        inside = plan.key.fields
        fields = mapper.to_field_image(entity, after)
        for name, spec in entity.fields_.items():
            if spec.frozen or (name in inside and name != plan.key.moves):
                if name in changes and after[name] != get_values(before)[name]:
                    raise Invalid("is set once, when the item is created", field=name)
                if name in existing:
                    fields[name] = dict(existing[name])
        for name in (MANIFEST, apart.name) if apart is not None else ():
            if name in existing:
                fields[name] = dict(existing[name])
        return fields

    def list_frozen_fields(self, entity: type[Entity]) -> tuple[str, ...]:
        """The fields that are set once, when an item is created, and are in no key."""
        return mapper.list_frozen_fields(entity, self.current_generation(entity).plan)

    def current_generation(self, entity: type[Entity]) -> Generation:
        """The newest generation of an entity's declarations."""
        return self.ledger.current_generation(entity.__name__)
