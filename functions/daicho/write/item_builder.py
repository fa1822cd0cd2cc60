"""Drafting: from what a caller gives to an item's whole image, checked before it is written."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from daicho.declare.entity import Entity, values_of
from daicho.declare.split import split_of
from daicho.declare.stored_objects import check_place
from daicho.errors import Invalid, ReferenceNotFound
from daicho.items import mapper
from daicho.layout import base_item
from daicho.layout.sections import MANIFEST
from daicho.plan import Generation, Ledger, model
from daicho.query.key_resolver import Places
from daicho.storage import item_key
from daicho.storage.attributes import AttributeValue, Image
from daicho.write import validation

E = TypeVar("E", bound=Entity)
Fields = dict[str, AttributeValue]


@dataclass
class Drafting:
    """Makes images of a tenant's items, by the newest declarations."""

    ledger: Ledger
    tenant: str
    places: Places

    def fields(self, item: Entity) -> Fields:
        """The attribute values of a new item, with what is copied into it.

        Raises:
            ReferenceNotFound: names the field that refers to nothing.
        """
        entity, values = type(item), values_of(item)
        copies = [spec for spec in entity.fields_.values() if spec.role == "copied"]
        fields = mapper.values_image(entity, values | {spec.name: None for spec in copies})
        for spec in copies:
            through: str = spec.target.name
            value = fields.get(through, mapper.NULL)
            if spec.source is None or value == mapper.NULL:
                continue
            image = self.places.reference(spec, value)
            if image is None:
                target = spec.target.target.__name__
                raise ReferenceNotFound(f"there is no {target} {values[through]}", field=through)
            fields[spec.name] = image.get(spec.source.name, mapper.NULL)
        return fields | mapper.manifest_image(item)

    def drafted(self, entity: type[Entity], fields: Fields, created: dt.datetime) -> Fields:
        """The whole image of an item of version 1, checked.

        Raises:
            Invalid: it cannot be stored, or not be derived.
        """
        current = self.current(entity)
        image = base_item.complete(self.tenant, current, fields, created)
        validation.check(current.plan, image)
        check_place(entity, item_key.key_of(image), model.key_fields(current.plan)[-1])
        return image

    def kept(self, entity: type[Entity], image: Image, there: Image) -> Fields:
        """The fields of ``image`` in place of an item that is there: what is set once stays."""
        names = (*entity.fields_, MANIFEST)
        fields = {name: dict(image[name]) for name in names if name in image}
        return fields | {name: dict(there[name]) for name in self.frozen(entity) if name in there}

    def changed(self, entity: type[E], there: Image, changes: Mapping[str, Any]) -> Fields:
        """The fields of an item with some of them changed.

        Raises:
            Invalid: names the field.
        """
        before, apart = mapper.item_of(entity, there), split_of(entity)
        values = values_of(before) | dict(changes)
        if apart is not None:
            values[apart.name] = {}  # not changed here: what it stands for stays, below
        try:
            after = values_of(entity(**values))
        except ValidationError as error:
            first = error.errors()[0]
            raise Invalid(first["msg"], field=".".join(map(str, first["loc"]))) from error
        plan = self.current(entity).plan
        inside = model.key_fields(plan)
        fields = mapper.values_image(entity, after)
        for name, spec in entity.fields_.items():
            if spec.frozen or (name in inside and name != plan.key.moves):
                if name in changes and after[name] != values_of(before)[name]:
                    raise Invalid("is set once, when the item is created", field=name)
                if name in there:
                    fields[name] = dict(there[name])
        for name in (MANIFEST, apart.name) if apart is not None else ():
            if name in there:
                fields[name] = dict(there[name])
        return fields

    def frozen(self, entity: type[Entity]) -> tuple[str, ...]:
        """The fields that are set once, when an item is created, and stand in no key."""
        return mapper.frozen_fields(entity, self.current(entity).plan)

    def current(self, entity: type[Entity]) -> Generation:
        """The newest generation of an entity's declarations."""
        return self.ledger.current(entity.__name__)
