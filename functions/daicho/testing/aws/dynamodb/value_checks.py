"""The attribute values that DynamoDB accepts, and the size of an item."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import Any

from daicho.testing.aws.dynamodb.attribute_values import EXACT, Image, InvalidRequestError, Value

MAX_ITEM_BYTES = 400 * 1024
MAX_DEPTH = 31
"""Lists and maps in each other; their innermost value is the 32nd level."""
MAX_DIGITS = 38
MAX_EXPONENT = 125
MIN_EXPONENT = -130
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,6})?")
CONTAINER_BYTES = 3
"""What a list or map takes in addition to its elements, each of which takes one byte more."""


def check_item_size(item: Image, overhead: int = 0) -> None:
    """Refuse wrong values, and an item that is too large with the ``overhead`` of its update."""
    if "" in item:
        raise InvalidRequestError("an attribute name is empty")
    size = sum(_measure_string(name) + check_value(value) for name, value in item.items())
    if size + overhead > MAX_ITEM_BYTES:
        raise InvalidRequestError("the item is larger than 400 KB")


def check_value(value: Value, depth: int = 0) -> int:
    """The bytes of a value.

    Raises:
        InvalidRequestError: DynamoDB does not accept the value.
    """
    if len(value) != 1:
        raise InvalidRequestError(f"a value has {len(value)} types")
    ((kind, content),) = value.items()
    if kind == "S":
        return len(content) if content.isascii() else len(content.encode())
    if kind == "N":
        return measure_number(content)
    if kind in ("BOOL", "NULL"):
        if kind == "NULL" and content is not True:
            raise InvalidRequestError("NULL must be true")
        return 1
    if kind == "B":
        return len(content)
    if kind in ("M", "L"):
        return _measure_document(kind, content, depth)
    return _measure_set(kind, content)


def _measure_string(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


@lru_cache(maxsize=16384)
def measure_number(text: str) -> int:
    """The bytes of a number: one for two digits before the point and behind it, and for its sign.

    Raises:
        InvalidRequestError: It is no number, too large, too small, or has too many digits.
    """
    if NUMBER.fullmatch(text) is None:
        raise InvalidRequestError(f"{text!r} is no number")
    number = Decimal(text)
    if not number:
        return 1
    _, digits, exponent = number.normalize(EXACT).as_tuple()
    if not MIN_EXPONENT <= number.adjusted() <= MAX_EXPONENT:
        raise InvalidRequestError(f"{text} is out of range")
    if len(digits) > MAX_DIGITS:
        raise InvalidRequestError(f"{text} has over {MAX_DIGITS} significant digits")
    fraction = min(max(-int(exponent), 0), len(digits))
    return 1 + (len(digits) - fraction + 1) // 2 + (fraction + 1) // 2 + (number < 0)


def _measure_document(kind: str, content: Any, depth: int) -> int:
    if depth >= MAX_DEPTH and content:
        raise InvalidRequestError(f"documents are nested in over {MAX_DEPTH + 1} levels")
    size = CONTAINER_BYTES
    if kind == "L":
        for element in content:
            size += 1 + check_value(element, depth + 1)
        return size
    for name, member in content.items():
        size += 1 + _measure_string(name) + check_value(member, depth + 1)
    return size


def _measure_set(kind: str, content: Any) -> int:
    if not content:
        raise InvalidRequestError(f"a set is empty: {kind}")
    if kind == "NS":
        size = sum(map(measure_number, content))
        members = {Decimal(number) for number in content}
    else:
        size = sum(map(_measure_string if kind == "SS" else len, content))
        members = set(content)
    if len(members) != len(content):
        raise InvalidRequestError(f"a set contains duplicates: {content}")
    return size
