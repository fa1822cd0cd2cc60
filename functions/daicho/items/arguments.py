"""Converts a caller's arguments into attribute values and key components.

Values are Python values or the text of a path or query. Both are validated by their field, and an
invalid value is refused with the field's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from daicho.declare.entity import Entity
from daicho.errors import Invalid
from daicho.items.mapper import make_adapter, to_attribute_values
from daicho.layout import item_keys
from daicho.plan import EntityPlan, Part
from daicho.plan.calendar import find_calendar, is_label
from daicho.plan.parts import list_range_labels
from daicho.search.normalise import fold
from daicho.storage import keys
from daicho.storage.attributes import AttributeValue


def validate_value(entity: type[Entity], name: str, value: Any) -> Any:
    """A value of one field, as the entity would hold it.

    Raises:
        Invalid: names the field.
    """
    try:
        return make_adapter(entity, name).validate_python(value)
    except ValidationError as error:
        raise Invalid(error.errors()[0]["msg"], field=name) from error


def parse_arguments(
    entity: type[Entity], names: Iterable[str], values: Iterable[Any]
) -> dict[str, AttributeValue]:
    """The attribute values of a caller's arguments, such as the values of a key.

    Raises:
        Invalid: a field does not accept its value; it names the field.
    """
    image: dict[str, AttributeValue] = {}
    for name, value in zip(names, values, strict=True):
        image |= to_attribute_values(entity, {name: validate_value(entity, name, value)})
    return image


def render_parts(
    entity: type[Entity], plan: EntityPlan, parts: tuple[Part, ...], values: tuple[Any, ...]
) -> tuple[str, ...]:
    """The components of these values in the key of a list or tally.

    An empty text represents a value that no item is stored under.

    Raises:
        Invalid: names the field.
    """
    return tuple(_render_part(entity, plan, *pair) for pair in zip(parts, values, strict=True))


def _render_part(entity: type[Entity], plan: EntityPlan, part: Part, value: Any) -> str:
    if part.folded:
        return fold(_render_value(part.field, value), part.fold_version)
    if part.edges and isinstance(value, str):
        if value not in (labels := list_range_labels(part.edges)):
            allowed = ", ".join(labels)
            raise Invalid(f"{value!r} is no range; write one of {allowed}", field=part.field)
        return value
    if part.each:
        return _render_value(part.field, value)
    if part.bucket and isinstance(value, str) and is_label(part.bucket, value):
        try:
            find_calendar(part.bucket, part.zone, part.first_weekday).parse(value)
        except ValueError as error:
            raise Invalid(str(error), field=part.bucket) from error
        return value
    image = parse_arguments(entity, (part.field,), (value,))
    try:
        return item_keys.render_part(plan, part, image) or ""
    except ValueError as error:
        raise Invalid(str(error), field=part.field) from error


def render_fields(
    plan: EntityPlan, names: Iterable[str], fields: Mapping[str, AttributeValue]
) -> list[str]:
    """The components of key fields in a key.

    Raises:
        Invalid: names the field.
    """
    texts: list[str] = []
    for name in names:
        try:
            texts.append(item_keys.render_key_field(plan, fields, name))
        except ValueError as error:
            raise Invalid(str(error), field=name) from error
    return texts


def _render_value(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise Invalid("must be text", field=name)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise Invalid("the text is not well-formed Unicode", field=name) from error
    return value


def check_key_length(name: str, key: str, check: Callable[[str], str]) -> str:
    """Check a key that contains a caller's values. Invalid if it is too long for DynamoDB."""
    try:
        return check(key)
    except keys.KeyTooLongError as error:
        raise Invalid(str(error), field=name) from error
