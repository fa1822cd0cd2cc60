"""Text of a certain form in a path or a query: a value of another form is refused in words.

OpenAPI shows the form as a pattern, which a program reads. The problem shows an example instead.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from daicho.plan.parts import list_range_labels


def build_text_type(
    pattern: str, expected: str, *, example: str, is_valid: Callable[[str], bool] | None = None
) -> Any:
    """The type of text that matches ``pattern``; ``expected`` names it in a problem.

    ``is_valid`` refuses further texts with the same message.
    """
    form = re.compile(pattern, re.ASCII)

    def check(text: str) -> str:
        if form.fullmatch(text) is None or (is_valid is not None and not is_valid(text)):
            raise PydanticCustomError("form", "Input should be {expected}", {"expected": expected})
        return text

    schema = {"type": "string", "pattern": f"^{pattern}$", "examples": [example]}
    return Annotated[str, AfterValidator(check), WithJsonSchema(schema)]


def build_names_type(names: Sequence[str], what: str) -> Any:
    """The type of some of these names, separated by commas; ``what`` they are, as in "field"."""
    known = frozenset(names)

    def check(text: str) -> str:
        for name in text.split(","):
            if name not in known:
                context = {"what": what, "name": repr(name[:100]), "known": ", ".join(names)}
                message = "Unknown {what} {name}; there are {known}"
                raise PydanticCustomError("names", message, context)
        return text

    any_of = "|".join(map(re.escape, names))
    pattern = f"^({any_of})(,({any_of}))*$"
    schema = {"type": "string", "pattern": pattern, "examples": [names[0]]}
    return Annotated[str, AfterValidator(check), WithJsonSchema(schema)]


def _is_day(text: str) -> bool:
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return False
    return True


Month = build_text_type("[0-9]{4}-(0[1-9]|1[0-2])", "a month, such as 2026-11", example="2026-11")
BucketDay = build_text_type(
    "[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "a day, such as 2026-11-21",
    example="2026-11-21",
    is_valid=_is_day,
)
"""The name of a day as an aggregate stores it: text, unlike `wire_types.Day`."""
BUCKET_TYPES: Mapping[str, Any] = {
    "hour": build_text_type(
        "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}Z",
        "an hour by its beginning in UTC, such as 2026-11-21T05:00Z",
        example="2026-11-21T05:00Z",
    ),
    "day": BucketDay,
    "week": build_text_type(
        "[0-9]{4}-[0-9]{2}-[0-9]{2}",
        "a week by its first day, such as 2026-11-16",
        example="2026-11-16",
        is_valid=_is_day,
    ),
    "month": Month,
    "quarter": build_text_type("[0-9]{4}-Q[1-4]", "a quarter, such as 2026-Q4", example="2026-Q4"),
    "year": build_text_type("[0-9]{4}", "a year, such as 2026", example="2026"),
}
"""The names of time buckets, by unit."""


def build_range_type(edges: tuple[str, ...]) -> Any:
    """The type of the label of a range of numbers."""
    return Literal[list_range_labels(edges)]
