"""Entities to images, and images to entities."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from daicho.declare.entity import Entity, restore_item
from daicho.declare.fields import FieldSpec
from daicho.declare.rules.declared_places import list_decimal_fields, list_declared_places
from daicho.declare.split import attach_manifest, get_manifest
from daicho.errors import Invalid, StoreError
from daicho.layout.migrations import read_migrated
from daicho.layout.sections import MANIFEST, Manifest
from daicho.plan import EntityPlan, Ledger
from daicho.storage import attributes, item_key
from daicho.storage.attributes import AttributeValue, Image
from daicho.storage.scales import (
    NO_PLACES,
    SCALES,
    find_scales,
    replace_scales,
    restore_scales,
)

E = TypeVar("E", bound=Entity)
NULL: AttributeValue = {"NULL": True}
INHERITED = ("created_at", "version", "versioned_at")
"""What every item has besides its fields. ``versioned_at`` is shown if versions are kept."""
MAX_NAME_BYTES = 65_535
"""The limit of an attribute's name, including nested ones."""

_INHERITED_ADAPTERS = {"created_at": TypeAdapter(dt.datetime)}


class UnreadableError(StoreError):
    """A stored item that its entity cannot read: the class has changed under it."""


def to_field_image(entity: type[Entity], values: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """The attribute values of an item's fields.

    An empty field is absent, which keeps it out of indexes. A NULL is stored if absence would have
    another meaning: if the default is not None, or if the field is frozen, because it must be
    visible that a frozen field was set. A split field is stored elsewhere. The scales of decimals
    are an attribute of their own.
    """
    return replace_fields(entity, {}, values)


def replace_fields(
    entity: type[Entity], image: Image, values: Mapping[str, Any]
) -> dict[str, AttributeValue]:
    """An image with other values of some fields, and their scales."""
    stored_values: dict[str, Any] = {}
    for name, spec in entity.fields_.items():
        if name not in values or spec is entity.split_field_:
            continue
        value = values[name]
        is_empty = value is None or (spec.kind == "set" and not value)  # DynamoDB has no empty set
        if not is_empty:
            stored_values[name] = value
        elif spec.frozen or not (spec.default is None or spec.role == "refs"):
            stored_values[name] = None
    plain = _to_plain_values(entity, stored_values)
    others = {name: value for name, value in image.items() if name not in values}
    replaced = {**others, **_to_attributes(plain)}
    decimals = list_decimal_fields(entity)
    if decimals.isdisjoint(values):
        return replaced
    declared, scales = list_declared_places(entity), dict[str, int]()
    for name in decimals & plain.keys():
        scales |= find_scales(name, plain[name], declared.get(name, NO_PLACES))
    return replace_scales(replaced, values.keys(), scales)


def list_companions(entity: type[Entity]) -> tuple[str, ...]:
    """The attributes that items have because of their fields, in addition to the fields."""
    return (SCALES,) if list_decimal_fields(entity) else ()


def copy_scales(
    entity: type[Entity], spec: FieldSpec, source: Image, image: Image
) -> dict[str, AttributeValue]:
    """An image with the scales of the decimals that a field was copied with.

    ``source``: the image of the item that the field is copied from.
    """
    other: type[Entity] = spec.target.target
    if spec.source is None or spec.source.name not in list_decimal_fields(other):
        return dict(image)
    value = read_values(other, source).get(spec.source.name)
    declared = list_declared_places(entity).get(spec.name, NO_PLACES)
    return replace_scales(image, (spec.name,), find_scales(spec.name, value, declared))


def to_attribute_values(
    entity: type[Entity], values: Mapping[str, Any]
) -> dict[str, AttributeValue]:
    """The attribute values of validated fields, by name; None becomes NULL.

    Raises:
        Invalid: DynamoDB has no place for one of them; it names the field.
    """
    return _to_attributes(_to_plain_values(entity, values))


def _to_plain_values(entity: type[Entity], values: Mapping[str, Any]) -> dict[str, Any]:
    plain = dict(values)
    for name, value in values.items():
        spec = entity.fields_.get(name)
        if spec is not None and spec.kind == "json" and value is not None:
            plain[name] = make_adapter(entity, name).dump_python(value)
            _check_nested(name, plain[name])
    return plain


def _to_attributes(values: Mapping[str, Any]) -> dict[str, AttributeValue]:
    image: dict[str, AttributeValue] = {}
    for name, value in values.items():
        try:
            image[name] = attributes.to_value(value)
            # Encodes every text: a lone surrogate cannot be stored.
            attributes.measure_image({name: image[name]})
        except UnicodeEncodeError as error:
            raise Invalid("the text is not well-formed Unicode", field=name) from error
        except (TypeError, ValueError) as error:
            raise Invalid(str(error), field=name) from error
    return image


def to_manifest_image(item: Entity) -> dict[str, AttributeValue]:
    """The manifest attribute of a split item, whose sections are written apart from it.

    Raises:
        TypeError: the sections are not written apart from it.
    """
    manifest = get_manifest(item)
    if manifest is None:
        name = type(item).__name__
        raise TypeError(f"{name} is split over items: it is written by the Book, on its own")
    return {MANIFEST: manifest.to_value()}


def to_item(entity: type[E], stored: Image, ledger: Ledger) -> E:
    """The item that a stored image holds; one of an older generation is migrated.

    Raises:
        UnreadableError: the entity cannot represent the stored values.
        UnmigratableError: a field migration fails.
    """
    image = read_migrated(ledger, entity.__name__, stored)
    values = read_values(entity, image)
    created_at, version = values.pop("created_at"), values.pop("version", None) or 0
    versioned_at = values.pop("versioned_at", None)
    split_field = entity.split_field_
    manifest = None if split_field is None else Manifest.from_image(image)
    if split_field is not None and manifest is not None:
        values[split_field.name] = {}  # the sections are stored elsewhere
    try:
        item = restore_item(entity, values, created_at, version, versioned_at)
        return item if manifest is None else attach_manifest(item, manifest)
    except ValidationError as error:
        raise UnreadableError(f"{entity.__name__} {item_key.get_key(image)}: {error}") from error


def read_values(entity: type[Entity], image: Image) -> dict[str, Any]:
    """What an image holds of an entity's fields, and of `INHERITED`, as plain values by name."""
    names = (*entity.fields_, *(INHERITED if entity.versioned_ else INHERITED[:-1]))
    values = attributes.from_image({name: image[name] for name in names if name in image})
    for name, value in values.items():
        spec = entity.fields_.get(name)
        if spec is None:
            is_instant = isinstance(value, str)
            values[name] = dt.datetime.fromisoformat(value) if is_instant else value
        elif spec.kind == "set" and value is None:
            values[name] = set()
        elif spec.kind == "json" and "Decimal" not in str(spec.annotation):
            values[name] = _to_floats(value)
    declared = list_declared_places(entity)
    return restore_scales(values, image, declared) if declared or SCALES in image else values


def list_frozen_fields(entity: type[Entity], plan: EntityPlan) -> tuple[str, ...]:
    """The fields that are set once, when the item is created, and are not part of a key."""
    inside = plan.key.fields
    return tuple(n for n, spec in entity.fields_.items() if spec.frozen and n not in inside)


@cache
def make_adapter(entity: type[Entity], name: str) -> TypeAdapter[Any]:
    """What validates and dumps the values of one field."""
    if name in _INHERITED_ADAPTERS:
        return _INHERITED_ADAPTERS[name]
    model_field = entity.model_.model_fields[name]
    annotation: Any = model_field.annotation
    for constraint in model_field.metadata:
        annotation = Annotated[annotation, constraint]
    return TypeAdapter(annotation)


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


def _is_long(name: str) -> bool:
    return len(name.encode(errors="surrogatepass")) > MAX_NAME_BYTES


def _check_nested(name: str, value: Any, level: int = 1) -> None:
    if isinstance(value, Mapping | list | tuple):
        if level >= attributes.MAX_LEVELS and value:
            limit = f"nested deeper than {attributes.MAX_LEVELS} levels"
            remedy = f"put a value in at most {attributes.MAX_LEVELS - 1} lists and objects"
            raise Invalid(f"{limit}: {remedy}", field=name)
        if isinstance(value, Mapping):
            if "" in value:
                raise Invalid("a name in it is empty", field=name)
            if any(len(str(key)) * 4 > MAX_NAME_BYTES and _is_long(str(key)) for key in value):
                raise Invalid(f"a name in it is over {MAX_NAME_BYTES} bytes", field=name)
        for member in value.values() if isinstance(value, Mapping) else value:
            _check_nested(name, member, level + 1)
