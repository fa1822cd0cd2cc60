"""Parts of declarations: fields as a declaration uses them, and conditions on them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any, TypeVar

from daicho.declare.base import Declaration
from daicho.declare.fields import FieldSpec
from daicho.errors import DeclarationError
from daicho.plan import TimeBucket

MAX_SHARDS = 100
"""Of a listing or a ranking: each is read for a page."""
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class PartSpec:
    """A field as a declaration uses it: bucketed, folded, or each of a set."""

    field: FieldSpec
    bucket: TimeBucket | None = None
    folded: bool = False
    each: bool = False

    @classmethod
    def from_argument(cls, value: Any) -> PartSpec:
        """Read an argument of a declaration."""
        if isinstance(value, PartSpec):
            return value
        return cls(get_spec(value))


@dataclass(frozen=True, eq=False)
class ConditionSpec:
    """A condition on one field."""

    field: FieldSpec
    values: tuple[Any, ...]


def get_spec(value: Any) -> FieldSpec:
    """The field that a bare name in a class body denotes.

    Raises:
        DeclarationError: it is no field.
    """
    if not isinstance(value, FieldSpec):
        raise DeclarationError(
            f"a declaration takes fields; {value!r} is none "
            "(a field with a default that is read: name: str = field(default=...))"
        )
    return value


def month(moment: dt.datetime | dt.date) -> str:
    """The month of an instant or day, in UTC: ``2026-11``."""
    return cast_declared(str, PartSpec(get_spec(moment), bucket="month"))


def day(moment: dt.datetime) -> str:
    """The day of an instant, in UTC: ``2026-11-21``."""
    return cast_declared(str, PartSpec(get_spec(moment), bucket="day"))


def folded(text: str) -> str:
    """The whole text in the normal form of searches: case, width, marks and kana folded."""
    return cast_declared(str, PartSpec(get_spec(text), folded=True))


def each(members: set[str]) -> str:
    """Each member of a set: the item is listed, or counted, once for every one."""
    return cast_declared(str, PartSpec(get_spec(members), each=True))


def one_of(value: T, *values: T) -> bool:
    """True of items whose field is one of ``values``."""
    return cast_declared(bool, ConditionSpec(get_spec(value), values))


def cast_declared(_kind: type[T], value: Any) -> T:
    """A declared value: for mypy the value in an item, for Python its declaration."""
    result: T = value
    return result


def read_condition(where: Any) -> ConditionSpec | None:
    """The condition that is declared, None for none; DeclarationError for anything else."""
    if where is True:
        return None
    if not isinstance(where, ConditionSpec):
        raise DeclarationError(
            f'where takes one_of(field, ...), not {where!r}; write where=one_of(status, "open")'
        )
    return where


def check_value_count(parts: tuple[Any, ...], expected: int, declaration: Declaration) -> None:
    """Check how many values a query is called with; TypeError names the declaration."""
    if len(parts) != expected:
        raise TypeError(f"{declaration} takes {expected} values, not {len(parts)}")
