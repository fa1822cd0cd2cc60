"""Items as JSON, written from their images or from their objects without a model in between.

`daicho.web.schema.models.render_item` defines the JSON of an item: Pydantic reads the image into an
object, and writes the object. For fields of plain types the text of a stored value is known from
the attribute value alone, so a page of a list makes no object. Whatever is not plain is left to
that definition: a field of another type, a value that its type would convert or refuse.
"""

from __future__ import annotations

import datetime as dt
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from json.encoder import encode_basestring
from typing import Annotated, Any, Literal

from daicho.declare.entity import Entity
from daicho.declare.fields import MISSING, FieldSpec
from daicho.declare.rules.declared_places import list_declared_places
from daicho.items.mapper import to_item
from daicho.items.projection import list_inherited_names
from daicho.layout.migrations import read_migrated
from daicho.plan import Ledger
from daicho.storage import attributes
from daicho.storage.attributes import AttributeValue, Image
from daicho.storage.scales import NO_PLACES, SCALES, pad_decimal, read_scales
from daicho.web.schema import models
from daicho.web.schema.wire_types import list_union_members

NULL = "null"
NO_SCALES: Mapping[str, int] = {}
_LENGTHS = ("min_length", "max_length", "pattern")
_NUMBERS = ("ge", "gt", "le", "lt", "multiple_of", "max_digits", "decimal_places")
PLAIN_LIMITS = frozenset((*_LENGTHS, *_NUMBERS, "examples", "description", "title"))
"""Limits of a field that change no value. A stored item is shown even if it exceeds them."""
UTC_OFFSET = dt.timedelta(0)

_INTEGER = re.compile(r"-?[1-9]\d{0,37}|0", re.ASCII)
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
WHOLE_SECOND = ".000000Z"

Text = str | None
"""JSON; None if the value is not plain."""


@dataclass(frozen=True)
class FieldJson:
    """How one field is written. ``head``: its name as JSON with a colon; empty if it is hidden.

    ``absent`` is the text of an item without the attribute, ``null`` that of a NULL.
    """

    name: str
    head: str
    from_attribute: Callable[[AttributeValue, Mapping[str, int]], Text]
    from_object: Callable[[Any], Text]
    absent: Text
    null: Text


class ItemJson:
    """Writes the items of an entity of which all fields are plain."""

    def __init__(self, fields: list[FieldJson]) -> None:
        self._from_attributes = [
            (each.name, each.head, each.from_attribute, each.absent, each.null) for each in fields
        ]
        self._from_objects = [
            (f"_{each.name}" if each.name in _INHERITED else each.name, each.head, each.from_object)
            for each in fields
            if each.head
        ]

    def render_image(self, image: Image) -> Text:
        """The JSON of an image; None if a value of it is not plain."""
        scales = read_scales(image) if SCALES in image else NO_SCALES
        members: list[str] = []
        for name, head, render, absent, null in self._from_attributes:
            value = image.get(name)
            if value is None:
                text = absent
            elif "NULL" in value:
                text = null
            else:
                text = render(value, scales)
            if text is None:
                return None
            if head:
                members.append(head + text)
        return f"{{{','.join(members)}}}"

    def render_object(self, item: Entity) -> Text:
        """The JSON of an object; None if a value of it is not plain."""
        values, members = vars(item), list[str]()
        for name, head, render in self._from_objects:
            value = values[name]
            text = NULL if value is None and name != "_created_at" else render(value)
            if text is None:
                return None
            members.append(head + text)
        return f"{{{','.join(members)}}}"


def render_image(entity: type[Entity], image: Image, ledger: Ledger) -> str:
    """A stored item as JSON.

    Raises:
        UnreadableError, UnmigratableError: as in `daicho.items.mapper.to_item`.
    """
    writer = make_item_json(entity)
    text = None
    if writer is not None:
        is_migrated = entity.__name__ in ledger.migrated
        newest = read_migrated(ledger, entity.__name__, image) if is_migrated else image
        text = writer.render_image(newest)
    return models.render_item(to_item(entity, image, ledger)) if text is None else text


def render_item(item: Entity) -> str:
    """An item as JSON."""
    writer = make_item_json(type(item))
    text = None if writer is None else writer.render_object(item)
    return models.render_item(item) if text is None else text


@cache
def make_item_json(entity: type[Entity]) -> ItemJson | None:
    """The writer of an entity's items; None if one of its fields is not plain."""
    if entity.split_field_ is not None:
        return None
    fields: list[FieldJson] = []
    for spec in entity.fields_.values():
        made = _make_field_json(entity, spec)
        if made is None:
            return None
        fields.append(made)
    fields += [_INHERITED[name] for name in ("created_at", "version")]
    if "versioned_at" in list_inherited_names(entity):
        fields.append(_INHERITED["versioned_at"])
    return ItemJson(fields)


def _make_field_json(entity: type[Entity], spec: FieldSpec) -> FieldJson | None:
    """How a field is written; None if it is not plain."""
    if not PLAIN_LIMITS.issuperset(spec.limits or ()):
        return None
    members = [each for each in list_union_members(spec.annotation) if each is not type(None)]
    if len(members) != 1:
        return None
    (plain,) = members
    if typing.get_origin(plain) is Annotated:
        return None
    from_attribute: Callable[[AttributeValue, Mapping[str, int]], Text]
    if typing.get_origin(plain) is Literal:
        literals = typing.get_args(plain)
        if not all(type(each) is str for each in literals):
            return None
        from_attribute, from_object = _make_literal_reader(literals), _render_text_object
    elif plain is Decimal:
        declared = list_declared_places(entity).get(spec.name, NO_PLACES).places
        from_attribute, from_object = _make_decimal_reader(spec.name, declared), _render_decimal
    elif plain in _PLAIN:
        from_attribute, from_object = _PLAIN[plain]
    else:
        return None
    return FieldJson(
        spec.name,
        "" if spec.hidden else f"{encode_basestring(spec.name)}:",
        from_attribute,
        from_object,
        _render_absent(spec, from_object),
        _render_null(spec),
    )


def _render_absent(spec: FieldSpec, from_object: Callable[[Any], Text]) -> Text:
    """The text of an item that was stored without the field, as `restore_item` reads it."""
    if spec.factory is not None:
        return "[]" if spec.factory is set else None
    if spec.is_derived or spec.default is MISSING or spec.default is None:
        return NULL
    return from_object(spec.default)


def _render_null(spec: FieldSpec) -> Text:
    if spec.kind == "set":
        return "[]"
    return NULL if spec.accepts_none else None


def _read_text(value: AttributeValue, _: Mapping[str, int]) -> Text:
    content = value.get("S")
    return None if content is None else _render_text_object(content)


def _make_literal_reader(
    literals: tuple[str, ...],
) -> Callable[[AttributeValue, Mapping[str, int]], Text]:
    texts = {each: encode_basestring(each) for each in literals}
    return lambda value, _: texts.get(value.get("S", MISSING))


def _read_integer(value: AttributeValue, _: Mapping[str, int]) -> Text:
    number = value.get("N")
    return number if number is not None and _INTEGER.fullmatch(number) else None


def _read_truth(value: AttributeValue, _: Mapping[str, int]) -> Text:
    return _render_truth(value.get("BOOL"))


def _make_decimal_reader(
    name: str, declared: int
) -> Callable[[AttributeValue, Mapping[str, int]], Text]:
    def read_decimal(value: AttributeValue, scales: Mapping[str, int]) -> Text:
        if "N" not in value:
            return None
        plain = Decimal(attributes.from_value(value))
        places = max(scales.get(name, 0), declared)
        return f'"{pad_decimal(plain, places) if places else plain:f}"'

    return read_decimal


def _read_day(value: AttributeValue, _: Mapping[str, int]) -> Text:
    text = value.get("S", "")
    try:
        is_day = dt.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return None
    return f'"{text}"' if is_day else None


def _read_instant(value: AttributeValue, _: Mapping[str, int]) -> Text:
    text = value.get("S", "")
    if not _INSTANT.fullmatch(text):
        return None
    try:
        dt.datetime.fromisoformat(text)  # there is no 30th of February
    except ValueError:
        return None
    return f'"{text[:19]}Z"' if text.endswith(WHOLE_SECOND) else f'"{text}"'


def _read_set(value: AttributeValue, _: Mapping[str, int]) -> Text:
    members = value.get("SS")
    return None if members is None else _render_set(set(members))


def _render_text_object(value: Any) -> Text:
    if type(value) is not str:
        return None
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return None
    return encode_basestring(value)


def _render_integer(value: Any) -> Text:
    return str(value) if type(value) is int else None


def _render_truth(value: Any) -> Text:
    return "true" if value is True else "false" if value is False else None


def _render_decimal(value: Any) -> Text:
    return f'"{value:f}"' if type(value) is Decimal else None


def _render_day(value: Any) -> Text:
    return f'"{value.isoformat()}"' if type(value) is dt.date else None


def _render_instant(value: Any) -> Text:
    if type(value) is not dt.datetime or value.utcoffset() != UTC_OFFSET:
        return None
    return f'"{value.replace(tzinfo=None).isoformat()}Z"'


def _render_set(value: Any) -> Text:
    if type(value) is not set and type(value) is not frozenset:
        return None
    members = [_render_text_object(each) for each in sorted(value)]
    return None if None in members else f"[{','.join(filter(None, members))}]"


_PLAIN: dict[Any, tuple[Callable[[AttributeValue, Mapping[str, int]], Text], Any]] = {
    str: (_read_text, _render_text_object),
    int: (_read_integer, _render_integer),
    bool: (_read_truth, _render_truth),
    dt.date: (_read_day, _render_day),
    dt.datetime: (_read_instant, _render_instant),
    set[str]: (_read_set, _render_set),
}
"""The readers of attribute values, and the writers of objects, by type."""

_INHERITED = {
    "created_at": FieldJson(
        "created_at", '"created_at":', _read_instant, _render_instant, None, None
    ),
    "version": FieldJson("version", '"version":', _read_integer, _render_integer, "0", "0"),
    "versioned_at": FieldJson(
        "versioned_at", '"versioned_at":', _read_instant, _render_instant, NULL, NULL
    ),
}
