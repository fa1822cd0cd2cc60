"""The sort keys that a list query selects: its range, its prefix and its window of time."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from daicho.declare.queries import ListQuery
from daicho.errors import Invalid
from daicho.items.arguments import check_key_length
from daicho.plan import EntityPlan
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import keys
from daicho.storage.requests import EVERY_KEY, KeyRange, cover_components, cover_text

LOW, HIGH, PREFIX = "from", "to", "prefix"
"""The names of the bounds in errors."""
DAY_CHARACTERS = len("2026-11-21")

_PYTHON_TYPES: dict[str, Any] = {
    "str": str,
    "int": int,
    "bool": bool,
    "date": dt.date,
    "datetime": dt.datetime,
}


@dataclass(frozen=True)
class ListOrder:
    """The order of a list that a query selects from.

    ``fields``: the names of the fields that order the list. ``head``: the part of the sort key
    before them.
    """

    plan: EntityPlan
    query: ListQuery[Any]
    fields: Sequence[str]
    head: str = ""

    def compute_range(self) -> KeyRange:
        """The sort keys from the low to the high bound of the query that begin with its prefix.

        Raises:
            TypeError: the list has no such order.
            Invalid: a bound is no value of its field, or the high bound is below the low one. It
                names ``from``, ``to`` or ``prefix``.
        """
        query = self.query
        if not query.has_range:
            return EVERY_KEY
        if not self.fields:
            raise TypeError(f"{query.name} of {self.plan.name} has one item: it has no range")
        low, high = self._render_bound(query.low, LOW), self._render_bound(query.high, HIGH)
        between = _check_order(KeyRange(low.low, high.high, high.is_open))
        return between if query.prefix is None else between.intersect(self._cover_prefix())

    def compute_window(self, now: int) -> KeyRange:
        """The sort keys in the query's window of time, which ends now; all keys without a window.

        Raises:
            TypeError: the list is not ordered by an instant.
        """
        if self.query.window is None:
            return EVERY_KEY
        if not self.fields or get_kind(self.plan, self.fields[0]) != "datetime":
            raise TypeError(f"{self.query.name} of {self.plan.name} is not ordered by an instant")
        moment = dt.datetime.fromtimestamp(now, dt.UTC) - self.query.window
        return KeyRange(self.head + keys.escape(keys.render_instant(moment)))

    def _render_bound(self, bound: Any, name: str) -> KeyRange:
        """The keys of the items that have exactly the values of a bound; all keys for no bound."""
        if bound is None:
            return EVERY_KEY
        values = bound if isinstance(bound, tuple) else (bound,)
        if not 1 <= len(values) <= len(self.fields):
            raise TypeError(
                f"{self.query.name} of {self.plan.name} is ordered by {', '.join(self.fields)}: a "
                f"bound has 1 to {len(self.fields)} values, not {len(values)}"
            )
        kinds = [get_kind(self.plan, field) for field in self.fields]
        pairs = zip(kinds, values, strict=False)
        texts = [_render_value(kind, value, name) for kind, value in pairs]
        text = self.head + keys.render(*texts)
        _check_bound_length(name, text)
        is_day = kinds[len(texts) - 1] == "datetime" and len(texts[-1]) == DAY_CHARACTERS
        return cover_text(text) if is_day else cover_components(text)

    def _cover_prefix(self) -> KeyRange:
        """The keys that begin with the prefix of the query."""
        field = self.fields[0]
        if get_kind(self.plan, field) != "str":
            raise TypeError(
                f"{self.query.name} of {self.plan.name} is ordered by {field}, which is no text: "
                "it has no prefix; use between()"
            )
        text = self.head + keys.escape(_render_value("str", self.query.prefix, PREFIX))
        _check_bound_length(PREFIX, text)
        return cover_text(text)


def compute_version_range(query: ListQuery[Any]) -> KeyRange:
    """The sort keys of the versions in the range of a query, by their numbers.

    Raises:
        TypeError: versions have no prefix.
        Invalid: a bound is no whole number, or the high bound is below the low one.
    """
    if query.prefix is not None:
        raise TypeError("versions are ordered by their numbers: they have no prefix")
    low = "" if query.low is None else _render_value("int", query.low, LOW)
    high = "" if query.high is None else _render_value("int", query.high, HIGH)
    return _check_order(KeyRange(low, high))


def get_kind(plan: EntityPlan, field: str) -> str:
    """The kind of the values of a field in keys."""
    return "datetime" if field == "created_at" else plan.fields.get(field, "str")


def _check_order(bounds: KeyRange) -> KeyRange:
    """The bounds, unless the high one is below the low one. Invalid if it is."""
    if bounds.is_empty:
        raise Invalid("the end of the range is before its beginning", field=HIGH)
    return bounds


def _check_bound_length(name: str, text: str) -> None:
    """Check the length of a bound: the end of what begins with it may be a byte longer."""
    check_key_length(name, f"{text}{keys.ESCAPE}", keys.check_sort)


def _render_value(kind: str, value: Any, name: str) -> str:
    """A value as the text of its component."""
    if kind in ("date", "datetime") and not isinstance(value, dt.date | str):
        raise Invalid(f"must be a {kind}, not {value!r}", field=name)
    is_day = kind == "datetime" and (
        (isinstance(value, dt.date) and not isinstance(value, dt.datetime))
        or (isinstance(value, str) and len(value) == DAY_CHARACTERS)
    )
    try:
        text = keys.render_scalar(_make_adapter("date" if is_day else kind).validate_python(value))
        text.encode()
    except ValidationError as error:
        raise Invalid(error.errors()[0]["msg"], field=name) from error
    except UnicodeEncodeError as error:
        raise Invalid("the text is not well-formed Unicode", field=name) from error
    except ValueError as error:
        raise Invalid(str(error), field=name) from error
    return text


@cache
def _make_adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(_PYTHON_TYPES[kind])
