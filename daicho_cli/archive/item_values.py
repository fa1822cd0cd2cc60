"""Archived items as JSON values, for every kind of value; decimals as the API shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from math import inf, isfinite
from typing import Any

from daicho.declare.entity import Entity
from daicho.declare.rules.declared_places import list_decimal_fields, list_declared_places
from daicho.items.json_pairs import replace_exponents
from daicho.items.mapper import make_adapter
from daicho.storage.scales import SCALES, count_places, restore_scales

Entities = Mapping[str, type[Entity]]
"""The current declarations by name."""
_OURS = frozenset({"PK", "SK", "GSI1PK", "GSI1SK", "type", "gen", "ttl", "_restored", SCALES})
"""The attributes that the library adds to the fields of an item."""
MAX_DIGITS = 38
"""The maximum of significant digits of a number in DynamoDB."""


def format_item(item: Mapping[str, Any], entity: type[Entity] | None) -> dict[str, Any]:
    """The fields of an archived image by name, and its other attributes that are not our own.

    ``entity``: its current declaration. An old row may be anything: what does not fit it is shown
    as it is stored.
    """
    values = {
        name: to_plain(value, _read_decimal)
        for name, value in sorted(item.items())
        if name not in _OURS
    }
    # The attribute with the scales may be of another form.
    with suppress(ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        values = restore_scales(values, item, list_declared_places(entity) if entity else {})
    return {name: _format_field(entity, name, value) for name, value in values.items()}


def to_plain(value: Any, read_number: Callable[[str], Any] | None = None) -> Any:
    """Convert an attribute value into a JSON value; any other value stays unchanged.

    Sets become sorted lists, binary values stay base64. ``read_number`` converts numbers; by
    default `format_number`.
    """
    if not isinstance(value, Mapping) or len(value) != 1:
        return value
    read = read_number or (lambda digits: format_number(_read_decimal(digits)))
    ((kind, content),) = value.items()
    match kind, content:
        case (("S" | "B" | "BOOL"), _):
            return content
        case "NULL", _:
            return None
        case "N", str():
            return read(content)
        case "M", Mapping():
            return {name: to_plain(member, read) for name, member in content.items()}
        case "L", list():
            return [to_plain(element, read) for element in content]
        case (("SS" | "BS"), list()):
            return sorted(content)
        case "NS", list():
            numbers = [format_number(_read_decimal(digits)) for digits in content]
            return sorted(numbers, key=lambda number: (str(type(number)), number))
        case _:
            return value


def format_number(value: Any) -> int | float | str:
    """A number as JSON; as text with all its digits where a reader would change it.

    These are numbers with zeros at the end of their places, and those that no float holds.
    """
    if not isinstance(value, Decimal):
        return str(value)
    if count_places(value) and value.as_tuple().digits[-1] == 0:
        return str(value)
    if _is_whole(value):
        return int(value)
    near = _find_float(value)
    return str(value) if near is None else near


def _read_decimal(digits: str) -> Decimal | str:
    """The digits of a number, without zeros at the end of its places: DynamoDB has none."""
    try:
        value = Decimal(digits)
    except InvalidOperation:
        return digits
    if _is_whole(value):
        return Decimal(int(value))
    near = _find_float(value)
    return value if near is None else Decimal(repr(near))


def _is_whole(value: Decimal) -> bool:
    return value.is_finite() and value.adjusted() < MAX_DIGITS and value == int(value)


def _find_float(value: Decimal) -> float | None:
    """The float that has exactly the value; None if there is none."""
    near = float(value) if value.is_finite() else inf
    return near if isfinite(near) and Decimal(repr(near)) == value else None


def _format_field(entity: type[Entity] | None, name: str, value: Any) -> Any:
    """A field whose numbers are decimals, as JSON."""
    if entity is not None and name in list_decimal_fields(entity) and value is not None:
        if entity.fields_[name].kind == "decimal":
            return f"{value:f}" if isinstance(value, Decimal) else _format_values(value)
        with suppress(ValueError):  # pydantic's errors too
            adapter = make_adapter(entity, name)
            known = adapter.validate_python(value)
            return replace_exponents(known, adapter.dump_python(known, mode="json"))
    return _format_values(value)


def _format_values(value: Any) -> Any:
    match value:
        case Decimal():
            return format_number(value)
        case dict():
            return {name: _format_values(member) for name, member in value.items()}
        case list():
            return [_format_values(element) for element in value]
        case _:
            return value
