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


def compute_range(
    plan: EntityPlan, query: ListQuery[Any], fields: Sequence[str], head: str = ""
) -> KeyRange:
    """The sort keys from the low to the high bound of a query that begin with its prefix.

    ``fields``: the names of the fields that order the list. ``head``: the part of the sort key
    before them.

    Raises:
        TypeError: the list has no such order.
        Invalid: a bound is no value of its field, or the high bound is below the low one. It names
            ``from``, ``to`` or ``prefix``.
    """
    if not query.has_range:
        return EVERY_KEY
    if not fields:
        raise TypeError(f"{query.name} of {plan.name} has one item: it has no range")
    low = _render_bound(plan, query, fields, query.low, LOW, head)
    high = _render_bound(plan, query, fields, query.high, HIGH, head)
    between = _check_order(KeyRange(low.low, high.high, high.is_open))
    if query.prefix is None:
        return between
    return between.intersect(_cover_prefix(plan, query, fields[0], query.prefix, head))


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


def compute_window(
    plan: EntityPlan, query: ListQuery[Any], fields: Sequence[str], now: int, head: str = ""
) -> KeyRange:
    """The sort keys in the query's window of time, which ends now; all keys without a window.

    Raises:
        TypeError: the list is not ordered by an instant.
    """
    if query.window is None:
        return EVERY_KEY
    if not fields or get_kind(plan, fields[0]) != "datetime":
        raise TypeError(f"{query.name} of {plan.name} is not ordered by an instant")
    moment = dt.datetime.fromtimestamp(now, dt.UTC) - query.window
    return KeyRange(head + keys.escape(keys.render_instant(moment)))


def get_kind(plan: EntityPlan, field: str) -> str:
    """The kind of the values of a field in keys."""
    return "datetime" if field == "created_at" else plan.fields.get(field, "str")


def _render_bound(
    plan: EntityPlan,
    query: ListQuery[Any],
    fields: Sequence[str],
    bound: Any,
    name: str,
    head: str,
) -> KeyRange:
    """The keys of the items that have exactly the values of a bound; all keys for no bound."""
    if bound is None:
        return EVERY_KEY
    values = bound if isinstance(bound, tuple) else (bound,)
    if not 1 <= len(values) <= len(fields):
        raise TypeError(
            f"{query.name} of {plan.name} is ordered by {', '.join(fields)}: a bound has 1 to "
            f"{len(fields)} values, not {len(values)}"
        )
    kinds = [get_kind(plan, field) for field in fields]
    texts = [_render_value(kind, value, name) for kind, value in zip(kinds, values, strict=False)]
    text = head + keys.render(*texts)
    _check_bound_length(name, text)
    is_day = kinds[len(texts) - 1] == "datetime" and len(texts[-1]) == DAY_CHARACTERS
    return cover_text(text) if is_day else cover_components(text)


def _check_order(bounds: KeyRange) -> KeyRange:
    """The bounds, unless the high one is below the low one. Invalid if it is."""
    if bounds.is_empty:
        raise Invalid("the end of the range is before its beginning", field=HIGH)
    return bounds


def _cover_prefix(
    plan: EntityPlan, query: ListQuery[Any], field: str, prefix: str, head: str
) -> KeyRange:
    if get_kind(plan, field) != "str":
        raise TypeError(
            f"{query.name} of {plan.name} is ordered by {field}, which is no text: it has no "
            "prefix; use between()"
        )
    text = head + keys.escape(_render_value("str", prefix, PREFIX))
    _check_bound_length(PREFIX, text)
    return cover_text(text)


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
