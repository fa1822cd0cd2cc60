"""Entities to images, and images to entities."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeVar

from pydantic import ValidationError

from daicho.declare.entity import Entity, restore_item
from daicho.declare.split import attach_manifest, find_split_field, get_manifest
from daicho.errors import StoreError
from daicho.items.arguments import is_empty, to_attribute_value
from daicho.layout.base_item import get_version
from daicho.layout.sections import MANIFEST, Manifest
from daicho.plan import EntityPlan, list_key_fields
from daicho.storage import attributes, item_key
from daicho.storage.attributes import AttributeValue, Image

E = TypeVar("E", bound=Entity)
NULL: AttributeValue = {"NULL": True}


class UnreadableError(StoreError):
    """A stored item that its entity cannot read: the class has changed under it."""


def to_field_image(entity: type[Entity], values: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """The attribute values of an item's fields.

    An empty field is absent, which keeps it out of indexes. A NULL is stored if absence would have
    another meaning: if the default is not None, or if the field is frozen, because it must be
    visible that a frozen field was set. A split field is stored elsewhere.
    """
    image: dict[str, AttributeValue] = {}
    apart = find_split_field(entity)
    for name, spec in entity.fields_.items():
        value = values[name]
        if spec is apart:
            continue
        if not is_empty(spec, value):
            image[name] = to_attribute_value(entity, name, value)
        elif spec.frozen or not (spec.default is None or spec.role == "refs"):
            image[name] = NULL
    return image


def to_manifest_image(item: Entity) -> dict[str, AttributeValue]:
    """The manifest attribute of a split item, whose sections are written apart from it.

    Raises:
        TypeError: the sections are not written apart from it.
    """
    if find_split_field(type(item)) is None:
        return {}
    manifest = get_manifest(item)
    if manifest is None:
        name = type(item).__name__
        raise TypeError(f"{name} is split over items: it is written by the Book, on its own")
    return {MANIFEST: manifest.to_value()}


def to_item(entity: type[E], image: Image) -> E:
    """The item that an image holds.

    Raises:
        UnreadableError: the entity cannot represent the stored values.
    """
    values = read_field_values(entity, image)
    apart, manifest = find_split_field(entity), Manifest.from_image(image)
    if apart is not None and manifest is not None:
        values[apart.name] = {}  # the sections are stored elsewhere
    created = dt.datetime.fromisoformat(attributes.get_text(image, "created_at") or "")
    try:
        item = restore_item(
            entity, values, created, get_version(image), read_versioned_at(entity, image)
        )
        return item if manifest is None else attach_manifest(item, manifest)
    except ValidationError as error:
        raise UnreadableError(f"{entity.__name__} {item_key.get_key(image)}: {error}") from error


def read_field_values(entity: type[Entity], image: Image) -> dict[str, Any]:
    """The fields that an image holds, as plain values."""
    values: dict[str, Any] = {}
    for name, spec in entity.fields_.items():
        if name not in image:
            continue
        value = attributes.from_value(image[name])
        if spec.kind == "set" and value is None:
            value = set()
        if spec.kind == "json" and "Decimal" not in str(spec.annotation):
            value = _to_floats(value)
        values[name] = value
    return values


def read_versioned_at(entity: type[Entity], image: Image) -> dt.datetime | None:
    """When this version was written, if versions are kept and the time is recorded."""
    text = attributes.get_text(image, "versioned_at") if entity.versioned_ else None
    return dt.datetime.fromisoformat(text) if text else None


def list_frozen_fields(entity: type[Entity], plan: EntityPlan) -> tuple[str, ...]:
    """The fields that are set once, when the item is created, and are not part of a key."""
    inside = list_key_fields(plan)
    return tuple(n for n, spec in entity.fields_.items() if spec.frozen and n not in inside)


def _to_floats(value: Any) -> Any:
    # JSON knows floats, DynamoDB decimals. A decimal that no float holds was never one.
    match value:
        case Decimal() if Decimal(repr(float(value))) == value:
            return float(value)
        case dict():
            return {name: _to_floats(member) for name, member in value.items()}
        case list():
            return [_to_floats(element) for element in value]
        case _:
            return value
