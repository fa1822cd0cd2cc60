"""Images: DynamoDB's attribute values and the keys of items, read without boto3.

A stream record, a low-level query answer and this module use the same shape:
``{"name": {"S": "Aja"}, "released": {"N": "1977"}}``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow, Rounded
from typing import Any, NamedTuple

from daicho.storage.keys import render_instant

AttributeValue = Mapping[str, Any]
Image = Mapping[str, AttributeValue]

MAX_ITEM_BYTES = 400 * 1024
MAX_LEVELS = 32
"""The levels of an attribute's value: the innermost value in 31 lists and maps is the 32nd.

Sources: "nested attributes up to 32 levels deep" ("Quotas in Amazon DynamoDB", AWS documentation).
That the attribute itself is the first level is what DynamoDB answered to the public suite
nubo-db/dynamodb-conformance. Dynoxide takes an empty list as the innermost value too.
"""
SMALLEST, LARGEST = -130, 125
"""Powers of ten between which DynamoDB keeps a number."""
_ONE = Decimal(1)
_EXACT = Context(prec=38, traps=[Inexact, Rounded, Overflow, InvalidOperation])


def parse_number(text: str) -> Decimal:
    """Read a number as DynamoDB writes it: up to 38 digits, never rounded.

    boto3's own deserialiser raises on valid numbers such as 1e100, because it reads them in a
    context that counts trailing zeros as digits; Decimal's constructor is exact.
    """
    return Decimal(text)


def get_text(image: Image, name: str) -> str | None:
    """A string attribute, or None."""
    value = image.get(name)
    return None if value is None or "NULL" in value else str(value["S"])


def get_integer(image: Image, name: str) -> int | None:
    """A whole-number attribute, or None.

    Raises:
        ValueError: the number is not whole.
    """
    value = image.get(name)
    if value is None or "NULL" in value:
        return None
    number = value["N"]
    # Digits alone are a whole number; `Decimal` reads exponents, points and signs.
    if isinstance(number, str) and number.isdecimal():
        return int(number)
    return to_whole_number(parse_number(number))


def to_whole_number(value: Decimal) -> int:
    """A number that must be whole, as int; ValueError if it is not."""
    if value != value.to_integral_value():
        raise ValueError(f"{value} is not a whole number")
    return int(value)


def from_value(value: AttributeValue) -> Any:
    """A plain Python value: whole numbers as int, others as Decimal, sets as set."""
    ((kind, content),) = value.items()
    match kind:
        case "S" | "BOOL":
            return content
        case "N":
            return _to_plain(parse_number(content))
        case "NULL":
            return None
        case "M":
            return {name: from_value(member) for name, member in content.items()}
        case "L":
            return [from_value(element) for element in content]
        case "SS":
            return set(content)
        case "NS":
            return {_to_plain(parse_number(number)) for number in content}
        case "B":
            return bytes(content)
        case _:
            raise TypeError(f"an attribute value of kind {kind}")


def to_value(value: Any) -> dict[str, Any]:
    """The attribute value of a plain Python value; days and instants become strings.

    Raises:
        TypeError: a value that DynamoDB cannot store.
        ValueError: a number of over 38 digits, or an empty set.
    """
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case str():
            return {"S": value}
        case int() | Decimal():
            return {"N": _format_number(Decimal(value))}
        case float():
            return {"N": _format_number(Decimal(repr(value)))}
        case dt.datetime():
            return {"S": render_instant(value)}
        case dt.date():
            return {"S": value.isoformat()}
        case Mapping():
            return {"M": {str(name): to_value(member) for name, member in value.items()}}
        case list() | tuple():
            return {"L": [to_value(element) for element in value]}
        case set() | frozenset():
            return {"SS": _make_string_set(value)}
        case _:
            raise TypeError(f"DynamoDB stores no {type(value).__name__}")


def to_image(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Attribute values of all values but None and empty sets, which are absent in DynamoDB."""
    return {
        name: to_value(value)
        for name, value in values.items()
        if value is not None and not (isinstance(value, set | frozenset) and not value)
    }


def from_image(image: Image) -> dict[str, Any]:
    """Plain Python values of an image."""
    return {name: from_value(value) for name, value in image.items()}


def equal_images(one: Image, other: Image) -> bool:
    """Whether two images hold the same values.

    DynamoDB returns numbers and sets in its own spelling and order.
    """
    return one == other or (
        one.keys() == other.keys()
        and all(one[name].keys() == other[name].keys() for name in one)
        and from_image(one) == from_image(other)
    )


def measure_image(image: Image) -> int:
    """The item's size in bytes as DynamoDB counts it, never less.

    Source: "DynamoDB item sizes and formats", AWS documentation.
    """
    size = 0
    for name, value in image.items():
        size += len(name) if name.isascii() else len(name.encode())
        text = value.get("S")  # most values are texts, and most texts are ASCII
        if text is not None:
            size += len(text) if text.isascii() else len(text.encode())
        else:
            size += _measure_value(value)
    return size


def _measure_value(value: AttributeValue) -> int:
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return len(content) // 2 + 2
        case "M":
            return 3 + sum(len(k.encode()) + 1 + _measure_value(v) for k, v in content.items())
        case "L":
            return 3 + sum(1 + _measure_value(element) for element in content)
        case "SS":
            return sum(len(member.encode()) for member in content)
        case "B":
            return len(content)
        case _:
            return 1


def _to_plain(value: Decimal) -> int | Decimal:
    return int(value) if value == value.to_integral_value() else value


def _format_number(value: Decimal) -> str:
    if not value.is_finite():
        raise ValueError("DynamoDB stores no infinity and no NaN")
    if not value:
        return "0"  # whatever its sign and exponent
    if value.same_quantum(_ONE) and value.adjusted() < _EXACT.prec:
        return str(value)  # a whole number of at most 38 digits
    try:
        _EXACT.create_decimal(value.normalize(_EXACT))
    except (Inexact, Rounded, Overflow) as error:
        raise ValueError("DynamoDB keeps 38 digits of a number") from error
    if not SMALLEST <= value.adjusted() <= LARGEST:
        raise ValueError(f"DynamoDB keeps numbers from 1e{SMALLEST} to below 1e{LARGEST + 1}")
    return format(value, "f") if -30 < value.adjusted() < 38 else str(value)


def _make_string_set(values: set[Any] | frozenset[Any]) -> list[str]:
    if not values or not all(isinstance(member, str) for member in values):
        raise ValueError("a set holds strings, at least one")
    return sorted(values)


EMPTY_SORT_KEY = "-"


class ItemKey(NamedTuple):
    """A primary key of the table.

    A tuple, because batches are folded by key: it is compared and hashed without calls of Python.
    """

    pk: str
    sk: str


def get_key(image: Image) -> ItemKey:
    """The primary key of an image."""
    return ItemKey(image["PK"]["S"], image["SK"]["S"])
