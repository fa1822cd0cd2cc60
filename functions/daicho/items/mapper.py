"""Entities to images, and images to entities."""

from __future__ import annotations

import datetime as dt
import typing
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import cache, cached_property
from typing import Annotated, Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from daicho.declare.entity import Entity, place_item, read_fields, restore_item
from daicho.declare.fields import FieldSpec, strip_none
from daicho.declare.rules.declared_places import list_decimal_fields, list_declared_places
from daicho.declare.split import attach_manifest, get_manifest
from daicho.errors import Invalid, UnreadableError
from daicho.layout.base_item import get_tag
from daicho.layout.migrations import read_migrated
from daicho.layout.sections import MANIFEST, Manifest
from daicho.plan import EntityPlan, Ledger
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes
from daicho.storage.attributes import AttributeValue, Image
from daicho.storage.scales import (
    NO_PLACES,
    SCALES,
    DeclaredPlaces,
    find_scales,
    read_scales,
    replace_scales,
    restore_scales,
    to_scales_value,
)

E = TypeVar("E", bound=Entity)
NULL: AttributeValue = {"NULL": True}
INHERITED = ("created_at", "version", "versioned_at")
"""What every item has besides its fields. ``versioned_at`` is shown if versions are kept."""
MAX_NAME_BYTES = 65_535
"""The limit of an attribute's name, including nested ones."""
NUMBERS = ("version", "gen")
"""The whole numbers that every item has."""
UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What the conversion of a stored value of another type raises."""
STORED_KINDS = {
    **{"S": "a string", "N": "a number", "BOOL": "a Boolean", "NULL": "null", "B": "binary"},
    **{"M": "a map", "L": "a list", "SS": "a string set", "NS": "a number set"},
    "BS": "a binary set",
}
PLAIN_KINDS = ("str", "int", "bool", "date", "set")
"""The kinds of values that come back from the table as they were written."""

_INHERITED_ADAPTERS = {"created_at": TypeAdapter(dt.datetime)}


@dataclass(frozen=True)
class FieldForm:
    """How the values of one field are stored; the same for all items of an entity.

    ``keeps_null``: an empty value is stored as NULL, because its absence would have another
    meaning: the default is not None, or the field is frozen, and it must be visible that it was
    set. Otherwise an empty field is absent, which keeps it out of indexes.
    ``is_plain``: a read shows each value as it was given. ``places``: those that the type declares;
    None of a field without decimals.
    """

    spec: FieldSpec
    name: str
    kind: str
    keeps_null: bool
    is_plain: bool
    places: DeclaredPlaces | None

    def is_empty(self, value: Any) -> bool:
        """Whether a value is none for DynamoDB, which has no empty set."""
        return value is None or (self.kind == "set" and not value)


@cache
def list_field_forms(entity: type[Entity]) -> tuple[FieldForm, ...]:
    """The forms of an entity's fields. A split field has none: it is stored elsewhere."""
    decimals, declared = list_decimal_fields(entity), list_declared_places(entity)
    return tuple(
        FieldForm(
            spec,
            name,
            spec.kind,
            spec.frozen or not (spec.default is None or spec.role == "refs"),
            spec.kind in PLAIN_KINDS and not _has_validators(entity, spec),
            declared.get(name, NO_PLACES) if name in decimals else None,
        )
        for name, spec in entity.fields_.items()
        if spec is not entity.split_field_
    )


def _has_validators(entity: type[Entity], spec: FieldSpec) -> bool:
    """Whether a field's type has functions of the project that may change a value once more."""
    inside = entity.model_.model_fields[spec.name]
    is_annotated = typing.get_origin(strip_none(inside.annotation)) is Annotated
    functions = (hasattr(each, "__get_pydantic_core_schema__") for each in inside.metadata)
    return is_annotated or any(functions)


def to_field_image(entity: type[Entity], values: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """The attribute values of an item's fields, and the scales of its decimals.

    Raises:
        Invalid: DynamoDB has no place for one of them; it names the field.
    """
    image: dict[str, AttributeValue] = {}
    scales: dict[str, int] = {}
    for form in list_field_forms(entity):
        name = form.name
        if name not in values:
            continue
        value = values[name]
        if form.is_empty(value):
            if form.keeps_null:
                image[name] = NULL
            continue
        if form.kind == "json":
            value = _dump_json(entity, name, value)
        image[name] = _to_attribute(name, value)
        if form.places is not None:
            scales |= find_scales(name, value, form.places)
    if scales:
        image[SCALES] = to_scales_value(scales)
    return image


def replace_fields(
    entity: type[Entity], image: Image, values: Mapping[str, Any]
) -> dict[str, AttributeValue]:
    """An image with other values of some fields, and their scales."""
    converted = to_field_image(entity, values)
    scales = read_scales(converted)
    others = {name: value for name, value in image.items() if name not in values}
    converted.pop(SCALES, None)
    replaced = {**others, **converted}
    if list_decimal_fields(entity).isdisjoint(values):
        return replaced
    return replace_scales(replaced, values.keys(), scales)


@dataclass(frozen=True)
class ItemFields(Generic[E]):
    """The fields of an item that is written, in both forms: rules and answers read ``shown``.

    ``stored``: their attribute values, with the scales of decimals and the manifest of sections.
    ``given``: the values that all of ``stored`` was made of; None if it is of stored items too.
    """

    entity: type[E]
    stored: Mapping[str, AttributeValue]
    given: Mapping[str, Any] | None = None

    @cached_property
    def shown(self) -> Mapping[str, Any]:
        """What a read after the write shows: values of all fields but a split one.

        Raises:
            pydantic.ValidationError: a stored value does not fit the entity's types any more.
        """
        if self.given is not None:
            with suppress(ValidationError):  # limits that only the value as it is given keeps
                return self._show_given(self.given)
        return self._read()

    def replace(self, name: str, value: Any) -> ItemFields[E]:
        """The same fields with another value of one."""
        given = None if self.given is None else {**self.given, name: value}
        return ItemFields(
            self.entity, replace_fields(self.entity, self.stored, {name: value}), given
        )

    def to_item(self, created_at: dt.datetime) -> E | None:
        """The item of version 1 that a read after its creation shows.

        None if that takes more than these fields: stored values, or sections.
        """
        if self.given is None or self.entity.split_field_ is not None:
            return None
        try:
            shown = self._show_given(self.given)
        except ValidationError:
            return None
        return place_item(self.entity, shown, created_at, 1)

    def _show_given(self, given: Mapping[str, Any]) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        stored, unlike = self.stored, dict[str, AttributeValue]()
        for form in list_field_forms(self.entity):
            name = form.name
            value = given[name]
            if form.is_empty(value):
                is_set = form.kind == "set" and (form.keeps_null or form.spec.role == "refs")
                shown[name] = set() if is_set else None
            elif form.is_plain:
                shown[name] = value
            else:
                shown[name] = None  # keeps the order
                unlike[name] = stored[name]
        if unlike:
            scales = {SCALES: stored[SCALES]} if SCALES in stored else {}
            for name, value in read_values(self.entity, {**unlike, **scales}).items():
                shown[name] = make_adapter(self.entity, name).validate_python(value)
        return shown

    def _read(self) -> dict[str, Any]:
        names = [form.name for form in list_field_forms(self.entity)]
        split = self.entity.split_field_
        image = {
            name: value
            for name, value in self.stored.items()
            if split is None or name != split.name
        }
        return read_fields(self.entity, read_values(self.entity, image), names)


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
    image: dict[str, AttributeValue] = {}
    for name, value in values.items():
        spec = entity.fields_.get(name)
        is_json = spec is not None and spec.kind == "json" and value is not None
        plain = _dump_json(entity, name, value) if is_json else value
        image[name] = _to_attribute(name, plain)
    return image


def _dump_json(entity: type[Entity], name: str, value: Any) -> Any:
    """The plain values of a field of kind json."""
    plain = make_adapter(entity, name).dump_python(value)
    _check_nested(name, plain)
    return plain


def _to_attribute(name: str, value: Any) -> AttributeValue:
    try:
        if type(value) is str:
            value.isascii() or value.encode()  # a lone surrogate cannot be stored
            return {"S": value}
        attribute = attributes.to_value(value)
        attributes.measure_image({name: attribute})  # encodes every text
    except UnicodeEncodeError as error:
        raise Invalid("the text is not well-formed Unicode", field=name) from error
    except (TypeError, ValueError) as error:
        raise Invalid(str(error), field=name) from error
    return attribute


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
    try:
        return _read_item(entity, stored, ledger)
    except UNREADABLE as error:
        raise explain_unreadable(entity, stored, error) from error


def _read_item(entity: type[E], stored: Image, ledger: Ledger) -> E:
    name, image = entity.__name__, stored
    if name in ledger.migrated:
        image = read_migrated(ledger, name, stored)
    values = read_values(entity, image)
    created_at, version = values.pop("created_at"), values.pop("version", None) or 0
    if not isinstance(created_at, dt.datetime) or not isinstance(version, int):
        raise TypeError("created_at is no time, or version is no whole number")
    versioned_at = values.pop("versioned_at", None)
    split_field = entity.split_field_
    manifest = None if split_field is None else Manifest.from_image(image)
    if split_field is not None and manifest is not None:
        values[split_field.name] = {}  # the sections are stored elsewhere
    item = restore_item(entity, values, created_at, version, versioned_at)
    if not version:
        item.__dict__["_digest"] = get_tag(stored)
    return item if manifest is None else attach_manifest(item, manifest)


def explain_unreadable(entity: type[Entity], image: Image, error: Exception) -> UnreadableError:
    """Name the first attribute of an image that cannot be read, and how it is stored."""
    name, fault = _find_fault(entity, image, error)
    kind = STORED_KINDS.get(next(iter(image[name])), "") if name in image else ""
    explained = UnreadableError(
        entity.__name__, f"it is stored as {kind}: {fault}" if kind else fault, name
    )
    explained.tag = get_tag(image)
    return explained


def _find_fault(entity: type[Entity], image: Image, error: Exception) -> tuple[str, str]:
    """The attribute that cannot be read, and why; "" if none is at fault on its own."""
    if isinstance(error, ValidationError):
        first = error.errors(include_input=False, include_url=False)[0]
        return str(next(iter(first["loc"]), "")), first["msg"]
    for name in NUMBERS:
        if not _is_readable(_read_number, image, name):
            return name, "it is no whole number"
    if not _is_readable(read_created, image):
        return "created_at", "it is no time" if "created_at" in image else "it is missing"
    for name in entity.fields_.keys() & image.keys():
        if not _is_readable(read_values, entity, {name: image[name]}):
            return name, "its value cannot be converted"
    return "", f"{type(error).__name__}: {error}"


def _is_readable(read: Callable[..., Any], *arguments: Any) -> bool:
    try:
        read(*arguments)
    except UNREADABLE:
        return False
    return True


def check_kept(entity: type[Entity], image: Image, names: Sequence[str]) -> None:
    """Check that a replacement can keep an item's version, creation, and these fields.

    Raises:
        UnreadableError: names the first of them that cannot be read.
    """
    try:
        read_created(image)
        for name in NUMBERS:
            _read_number(image, name)
        if names:
            kept = read_values(entity, {n: image[n] for n in names if n in image})
            read_fields(entity, kept, names)
    except UNREADABLE as error:
        raise explain_unreadable(entity, image, error) from error


def read_kept(image: Image, now: dt.datetime) -> dict[str, AttributeValue]:
    """The version and the creation of an unreadable item; 0 and ``now`` if these are at fault."""
    return {
        "version": attributes.to_value(read_version(image)),
        "created_at": (
            image["created_at"] if _is_readable(read_created, image) else attributes.to_value(now)
        ),
    }


def read_version(image: Image) -> int:
    """The version of an item that may be unreadable: 0 if it is."""
    return _read_number(image, "version") if _is_readable(_read_number, image, "version") else 0


def _read_number(image: Image, name: str) -> int:
    """A number that the library counts up: 0 without the attribute."""
    number = attributes.get_integer(image, name) if name in image else 0
    if number is None:
        raise TypeError(f"{name} is null")
    return number


def read_created(image: Image) -> dt.datetime:
    """When an item was created, in UTC."""
    return dt.datetime.fromisoformat(image["created_at"]["S"])


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
