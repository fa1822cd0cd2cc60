"""Images as plain JSON, for people to read."""

from __future__ import annotations

import base64
from decimal import Decimal
from typing import Any

from daicho.storage import attributes
from daicho.storage.attributes import Image

MAX_SAFE_INTEGER = 2**53 - 1
"""The largest whole number that JavaScript reads exactly. Source: ECMAScript, MAX_SAFE_INTEGER."""


def to_plain_json(image: Image | None) -> dict[str, Any] | None:
    """An image as plain JSON values.

    Other numbers than whole ones that JavaScript reads exactly are text. A value that cannot be
    read, as a poison record may have it, is shown as it was delivered.
    """
    if image is None:
        return None
    return {name: _read_value(value) for name, value in image.items()}


def _read_value(value: Any) -> Any:
    try:
        return _to_json(attributes.from_value(value))
    except (TypeError, ValueError, ArithmeticError, AttributeError):
        return value


def _to_json(value: Any) -> Any:
    match value:
        case bool() | str() | None:
            return value
        case int() if abs(value) <= MAX_SAFE_INTEGER:
            return value
        case int() | Decimal():
            return str(value)
        case dict():
            return {name: _to_json(member) for name, member in value.items()}
        case set():
            return [_to_json(element) for element in sorted(value)]
        case list():
            return [_to_json(element) for element in value]
        case bytes():
            return base64.b64encode(value).decode()
        case _:
            raise TypeError(f"no JSON of a {type(value).__name__}")
