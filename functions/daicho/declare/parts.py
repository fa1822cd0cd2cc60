"""Parts of declarations: fields as a declaration uses them, and conditions on them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

from daicho.declare.base import Declaration
from daicho.declare.fields import FieldSpec
from daicho.derive.figures import Buckets
from daicho.errors import DeclarationError
from daicho.plan import FIRST_FOLD, NEWEST_FOLD, Part, TimeBucket
from daicho.plan.calendar import check_zone, digest_zone

MAX_SHARDS = 100
"""The maximum of a listing or a ranking: each shard is read for a page."""
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
WEEKDAYS: tuple[Weekday, ...] = get_args(Weekday)
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class PartSpec:
    """A field as a declaration uses it: bucketed, folded, or each of a set."""

    field: FieldSpec
    bucket: TimeBucket | None = None
    folded: bool = False
    each: bool = False
    zone: str = "UTC"
    first_weekday: int = 0
    edges: tuple[str, ...] = ()

    def compile(self, name: str) -> Part:
        """The plan of the part of the field ``name``."""
        zone, weekday = self.zone, self.first_weekday
        rules = digest_zone(zone)
        fold_version = NEWEST_FOLD if self.folded else FIRST_FOLD
        return Part(
            *(name, self.bucket, self.folded, self.each, zone, weekday, self.edges, rules),
            fold_version=fold_version,
        )

    def check_zone(self, declaration: Declaration) -> None:
        """Refuse a zone for a field that is a day.

        Raises:
            DeclarationError: it names the declaration.
        """
        if self.zone != "UTC" and self.field.kind == "date":
            raise DeclarationError(
                f"{declaration}: {self.field.name} is a day, which has no time zone; "
                f"write {self.bucket}({self.field.name}) without the zone"
            )


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


def read_specs(argument: Any) -> tuple[FieldSpec, ...]:
    """The fields of an argument that takes one or several."""
    values = argument if isinstance(argument, tuple) else (argument,)
    return tuple(get_spec(value) for value in values)


def read_parts(argument: Any) -> tuple[PartSpec, ...]:
    """The parts of an argument that takes one or several."""
    values = argument if isinstance(argument, tuple) else (argument,)
    return tuple(
        value if isinstance(value, PartSpec) else PartSpec(get_spec(value)) for value in values
    )


def check_shards(kind: str, shards: int) -> None:
    """Refuse a number of shards that a ``kind`` of declaration cannot have.

    Raises:
        DeclarationError: it is not from 1 to `MAX_SHARDS`.
    """
    if shards not in range(1, MAX_SHARDS + 1):
        raise DeclarationError(
            f"a {kind}'s shards are a number from 1 to {MAX_SHARDS}, not {shards!r}; "
            "choose one of them, such as shards=4, or leave shards= out"
        )


def hour(moment: dt.datetime, zone: str = "UTC") -> str:
    """The hour of an instant by the clock of a time zone, named by its beginning in UTC.

    ``2026-10-25T00:00Z``. ``zone``: a name of the IANA database, such as ``Europe/Berlin``.
    """
    return _bucket(moment, "hour", zone)


def day(moment: dt.datetime | dt.date, zone: str = "UTC") -> str:
    """The day of an instant in a time zone: ``2026-11-21``."""
    return _bucket(moment, "day", zone)


def week(
    moment: dt.datetime | dt.date, zone: str = "UTC", *, first_weekday: Weekday = "monday"
) -> str:
    """The week of an instant or day, named by its first day: ``2026-11-16``."""
    if first_weekday not in WEEKDAYS:
        raise DeclarationError(
            f"a week begins with one of {', '.join(WEEKDAYS)}, not {first_weekday!r}; "
            'write first_weekday="sunday"'
        )
    return _bucket(moment, "week", zone, WEEKDAYS.index(first_weekday))


def month(moment: dt.datetime | dt.date, zone: str = "UTC") -> str:
    """The month of an instant or day: ``2026-11``."""
    return _bucket(moment, "month", zone)


def quarter(moment: dt.datetime | dt.date, zone: str = "UTC") -> str:
    """The quarter of an instant or day: ``2026-Q4``."""
    return _bucket(moment, "quarter", zone)


def year(moment: dt.datetime | dt.date, zone: str = "UTC") -> str:
    """The year of an instant or day: ``2026``."""
    return _bucket(moment, "year", zone)


def _bucket(moment: Any, bucket: TimeBucket, zone: str, first_weekday: int = 0) -> str:
    try:
        check_zone(zone)
    except ValueError as error:
        raise DeclarationError(
            f"{error}; write a name of the IANA database, such as 'Europe/Berlin'"
        ) from None
    part = PartSpec(get_spec(moment), bucket=bucket, zone=zone, first_weekday=first_weekday)
    return cast_declared(str, part)


def band(number: T, ranges: Buckets) -> T:
    """The range of a number, as a group of an `Aggregate`: ``10..100``.

    ``ranges``: ``linear(0, 100, 10)``, ``logarithmic(1, 10_000)`` or ``explicit(0, 10, 100)``. An
    edge begins a range. Numbers below the first edge, and from the last one on, have ranges too:
    ``..0`` and ``100..``.
    """
    if not isinstance(ranges, Buckets):
        raise DeclarationError(
            f"a band takes ranges, not {ranges!r}; write band(price, explicit(0, 10, 100))"
        )
    edges = tuple(f"{edge:f}" for edge in ranges.edges)
    return cast_declared(type(number), PartSpec(get_spec(number), edges=edges))


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


def check_condition(declaration: Declaration, where: ConditionSpec) -> None:
    """Check that a field can have the values of a condition.

    Raises:
        DeclarationError: one of them is not in its ``Literal``.
    """
    literals = where.field.literals
    for value in where.values:
        if literals is not None and value not in literals:
            raise DeclarationError(
                f"{declaration}: {value!r} is not a value of {where.field} {literals}; "
                f"use one of them, or add {value!r} to the Literal"
            )


def check_value_count(parts: tuple[Any, ...], expected: int, declaration: Declaration) -> None:
    """Check how many values a query is called with; TypeError names the declaration."""
    if len(parts) != expected:
        values = "1 value" if expected == 1 else f"{expected} values"
        raise TypeError(f"{declaration} takes {values}, not {len(parts)}")
