"""JSON without silent losses: a repeated key, or a number that no float is, is refused.

Parsers keep one of the values of a repeated key, and do not agree on which. They make of a number
with a point or an exponent the nearest float: `0.30000000000000001` becomes 0.3.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any, NoReturn

MAX_SHOWN = 100
"""Characters of a key or a number that a message shows."""
MIN_COUNTED_VALUES = 1_000
"""Fewer members and elements are not counted exactly."""
Path = tuple[str | int, ...]


def shorten(text: str) -> str:
    """A key or a number as a message shows it."""
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


class RepeatedKeyError(ValueError):
    """A JSON object has a key twice."""

    def __init__(self, key: str) -> None:
        super().__init__(f"the key {key[:MAX_SHOWN]!r} is given twice in one object")
        self.key = key


class InexactNumberError(ValueError):
    """A number that would be stored as another one. ``path``: where it is, if that is known."""

    def __init__(self, text: str, path: Path = ()) -> None:
        shown = shorten(text)
        super().__init__(
            f"the number {shown} cannot be kept as it was sent: send fewer digits, or a decimal "
            f'as text: "{shown}"'
        )
        self.path = path


class WholeNumber(str):
    """The digits of a whole number in a JSON text: Python converts no more than 4,300 of them."""

    __slots__ = ()


class InexactNumber(str):
    """The text of a number that no float is."""

    __slots__ = ()


def build_object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON: an ``object_pairs_hook``.

    Raises:
        RepeatedKeyError: a key occurs twice.
    """
    values = dict(pairs)
    if len(values) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise RepeatedKeyError(key)
            seen.add(key)
    return values


def refuse_constant(constant: str) -> NoReturn:
    """Refuse NaN and Infinity: a ``parse_constant``.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"{constant} is no JSON")


def mark_number(text: str) -> float | InexactNumber:
    """The float that a number of JSON is, or its text if no float is: a ``parse_float``."""
    value = float(text)
    try:
        is_same = repr(value) == text or Decimal(repr(value)) == Decimal(text)
    except InvalidOperation:  # an exponent of 20 digits
        is_same = False
    return value if is_same else InexactNumber(text)


def find_inexact(values: Any) -> InexactNumberError | None:
    """The refusal of the first number that `mark_number` left as text; None without one."""
    waiting: list[tuple[Any, Path]] = [(values, ())]  # no recursion: a text may be deep
    while waiting:
        value, path = waiting.pop()
        if isinstance(value, InexactNumber):
            return InexactNumberError(value, path)
        if isinstance(value, Mapping):
            waiting += reversed([(member, (*path, name)) for name, member in value.items()])
        elif isinstance(value, list):
            waiting += reversed([(each, (*path, place)) for place, each in enumerate(value)])
    return None


def count_values(text: str) -> int:
    """The members and elements in a JSON text, at least; without parsing it.

    They are as many as commas and opening brackets outside of texts.
    """
    if text.count(",") + text.count("{") + text.count("[") < MIN_COUNTED_VALUES:
        return 0  # also with those in texts there are few
    if "\\" in text:
        text = text.replace("\\\\", "").replace('\\"', "")
    outside = "".join(text.split('"')[::2])
    return outside.count(",") + outside.count("{") + outside.count("[")


def parse_exactly(text: str) -> Any:
    """The values of a JSON text, with whole numbers as `WholeNumber`; None if it is no JSON.

    The parser of the model has the better message for text that is no JSON.

    Raises:
        RepeatedKeyError: a key occurs twice.
        InexactNumberError: a number would become another one.
    """
    try:
        return _make_decoder(_read_float).raw_decode(text.lstrip())[0]
    except InexactNumberError as error:
        # Only a refused text is read twice, for the path of its number.
        raise _locate(text) or error from None
    except RepeatedKeyError:
        raise
    except (ValueError, RecursionError):
        return None


def _locate(text: str) -> InexactNumberError | None:
    try:
        return find_inexact(_make_decoder(mark_number).raw_decode(text.lstrip())[0])
    except (ValueError, RecursionError):  # the rest is no JSON, or has a key twice
        return None


def _read_float(text: str) -> float:
    value = mark_number(text)
    if isinstance(value, InexactNumber):
        raise InexactNumberError(text)
    return value


@cache
def _make_decoder(parse_float: Any) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=build_object, parse_int=WholeNumber, parse_float=parse_float
    )
