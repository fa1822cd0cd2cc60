"""Text of a certain form in a path or a query: a value of another form is refused in words.

OpenAPI shows the form as a pattern, which a program reads. The problem shows an example instead.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from daicho.plan.parts import list_range_labels

_YEAR = "(?!0000)[0-9]{4}"
_DAY = f"{_YEAR}-[0-9]{{2}}-[0-9]{{2}}"
_HOUR = _DAY + "T[0-9]{2}:[0-9]{2}Z"
_FORMS: Mapping[str, tuple[str, str, str]] = {
    "hour": (_HOUR, "an hour by its beginning in UTC", "2026-11-21T05:00Z"),
    "day": (_DAY, "a day", "2026-11-21"),
    "week": (_DAY, "a week by its first day", "2026-11-16"),
    "month": (f"{_YEAR}-(0[1-9]|1[0-2])", "a month", "2026-11"),
    "quarter": (f"{_YEAR}-Q[1-4]", "a quarter", "2026-Q4"),
    "year": (_YEAR, "a year", "2026"),
}
"""By unit: the pattern of the name of a bucket, what it is in words, and an example."""


def _build_bucket_type(pattern: str, words: str, example: str) -> Any:
    """The type of the name of a time bucket: text, also of a day, unlike `wire_types.Day`."""
    form = re.compile(pattern, re.ASCII)

    def check(text: str) -> str:
        if form.fullmatch(text) is None or (pattern == _DAY and not _is_day(text)):
            expected = f"{words}, such as {example}"
            raise PydanticCustomError("form", "Input should be {expected}", {"expected": expected})
        return text

    schema = {"type": "string", "pattern": f"^{pattern}$", "examples": [example]}
    return Annotated[str, AfterValidator(check), WithJsonSchema(schema)]


def _is_day(text: str) -> bool:
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return False
    return True


BUCKET_TYPES = {unit: _build_bucket_type(*form) for unit, form in _FORMS.items()}
"""The types of the names of time buckets, by unit."""


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


def build_range_type(edges: tuple[str, ...]) -> Any:
    """The type of the label of a range of numbers."""
    return Literal[list_range_labels(edges)]
