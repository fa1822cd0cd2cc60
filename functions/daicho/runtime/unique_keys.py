"""JSON objects with a repeated key: parsers keep one of the values, and do not agree on which."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any


class RepeatedKeyError(ValueError):
    """A JSON object has a key twice."""

    def __init__(self, key: str) -> None:
        super().__init__(f"the key {key[:100]!r} is given twice in one object")
        self.key = key


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


def check_unique_keys(text: str) -> None:
    """Refuse a JSON text in which an object of any depth has a key twice.

    A text that is no JSON passes: its parser has the better message.

    Raises:
        RepeatedKeyError: a key occurs twice.
    """
    try:
        _make_decoder().raw_decode(text.lstrip())
    except RepeatedKeyError:
        raise
    except (ValueError, RecursionError):
        return


@cache
def _make_decoder() -> json.JSONDecoder:
    # Numbers stay text: Python refuses to convert integers of more than 4,300 digits.
    return json.JSONDecoder(object_pairs_hook=build_object, parse_int=str, parse_float=str)
