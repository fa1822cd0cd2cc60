"""Parses the values of context options: text (``-c name=value``) or JSON (``cdk.json``)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

MAX_BATCHING_WINDOW_S = 300
"""Source: MaximumBatchingWindowInSeconds of CreateEventSourceMapping, AWS Lambda API Reference."""
MAX_DIGITS = 9
"""Digits of a whole number; Python does not read one of thousands of digits."""


def parse_text(name: str, value: Any, wrong: list[str]) -> str | None:
    """A text or whole number as text, or nothing; add what is wrong to ``wrong``."""
    if not value:
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        wrong.append(f"{name} is {value!r}, not a text")
        return None
    return str(value)


def parse_boolean(name: str, value: Any, wrong: list[str]) -> bool:
    """True, false, or nothing, which is false; add what is wrong to ``wrong``."""
    text = str(value or "false").lower()
    if text not in {"true", "false"}:
        wrong.append(f"{name} is {value!r}, neither true nor false")
    return text == "true"


def parse_fraction(name: str, value: Any, wrong: list[str]) -> float | None:
    """A number above 0 and below 1, or nothing; add what is wrong to ``wrong``."""
    if value is None or value == "":
        return None
    try:
        fraction = float(value)
    except (TypeError, ValueError, OverflowError):
        fraction = math.nan
    if not 0 < fraction < 1:
        wrong.append(f"{name} is {value!r}, not a number between 0 and 1")
        return None
    return fraction


def parse_seconds(name: str, value: Any, default: int, wrong: list[str]) -> int:
    """A whole number of seconds, by default ``default``; add what is wrong to ``wrong``."""
    if value is None or value == "":
        return default
    text = str(value)
    if not (text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS):
        wrong.append(f"{name} is {value!r}, not a whole number of seconds")
        return default
    return int(text)


def list_window_problems(name: str, seconds: int) -> Iterator[str]:
    """What Lambda refuses as a batching window, with the remedy."""
    if not 0 <= seconds <= MAX_BATCHING_WINDOW_S:
        yield (
            f"{name} is {seconds}; Lambda takes 0 to {MAX_BATCHING_WINDOW_S} seconds: "
            "use 0 for no delay, or 1 to 5 to collect records"
        )


def split_list(value: Any) -> tuple[str, ...]:
    """The entries of a list, or of a text that commas separate; spaces around them are removed."""
    entries = value if isinstance(value, (list, tuple)) else str(value or "").split(",")
    return tuple(filter(None, (str(entry).strip() for entry in entries)))
