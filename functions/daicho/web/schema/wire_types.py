"""Values on the wire: how JSON and query strings may write a field's type.

Bodies are read in Pydantic's strict JSON mode, where ``"5"`` is no number and ``1`` no truth. That
mode accepts three kinds of values that this module refuses: an instant written as a number of
seconds or without a time zone, numbers that DynamoDB cannot store, and text that only Python takes
for a number.
"""

from __future__ import annotations

import datetime as dt
import re
import types
import typing
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal, Union

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from daicho.items.json_pairs import describe_decimal_text
from daicho.runtime.exact_json import InexactNumber, InexactNumberError, mark_number
from daicho.storage.attributes import to_value
from daicho.web.schema.addresses import describe_unaddressable

TRUTHS: Mapping[str, str] = {"true": "true", "false": "false", "1": "true", "0": "false"}
"""How a path or a query may write a boolean."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_INTEGER = re.compile(r"-?\d{1,40}", re.ASCII)
_ISO = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?([Zz]|[+-]([01]\d|2[0-3]):?[0-5]\d)",
    re.ASCII,
)


def _render_instant(value: Any) -> Any:
    # The result of a validator in front is no JSON: strict mode needs a value of the field's type.
    if not isinstance(value, str):
        return value
    try:
        if _ISO.fullmatch(value):
            return dt.datetime.fromisoformat(value.upper())
    except ValueError:
        pass
    raise PydanticCustomError(
        "instant", "Input should be a date and time with a time zone: 2026-11-21T01:05:40Z"
    )


def _to_utc(value: dt.datetime) -> dt.datetime:
    try:
        return value.astimezone(dt.UTC)
    except OverflowError:
        raise PydanticCustomError("instant", "Input should be a year from 1 to 9999 UTC") from None


def _render_day(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        if _DATE.fullmatch(value):
            return dt.date.fromisoformat(value)
    except ValueError:
        pass
    raise PydanticCustomError("day", "Input should be a day: 2026-11-21")


def _read_decimal(value: Any) -> Any:
    """A decimal as it was sent. `parse_exactly` has refused numbers that a parser would round."""
    if isinstance(value, str):
        problem = describe_decimal_text(value)
        if problem:
            raise PydanticCustomError("decimal", "{problem}", {"problem": problem})
        return Decimal(value)
    if isinstance(value, float | int) and not isinstance(value, bool):
        return Decimal(repr(value))
    if isinstance(value, Decimal):
        return value
    raise PydanticCustomError("decimal_type", 'Input should be a decimal, as text such as "12.50"')


def _read_float(value: Any) -> Any:
    """A float as it was sent: a whole number may have more digits than one keeps."""
    if isinstance(value, str) and describe_decimal_text(value):
        raise PydanticCustomError("float_parsing", "Input should be a number, such as 12.5")
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if is_whole and isinstance(mark_number(str(value)), InexactNumber):
        problem = str(InexactNumberError(str(value)))
        raise PydanticCustomError("float", "{problem}", {"problem": problem})
    return value


def _check_storable(value: Any) -> Any:
    try:
        to_value(value)
    except ValueError as error:
        raise PydanticCustomError(
            "number", "Input does not fit: {why}", {"why": str(error)}
        ) from None
    return value


def _parse_integer_text(value: Any) -> Any:
    if isinstance(value, str) and not _INTEGER.fullmatch(value):
        raise PydanticCustomError("int_parsing", "Input should be a whole number")
    return value


def parse_truth_text(value: Any) -> Any:
    """A boolean of a path or a query as Pydantic reads it: true or false, also written 1 or 0."""
    if not isinstance(value, str):
        return value
    if value not in TRUTHS:
        raise PydanticCustomError("bool_parsing", "Input should be true or false, or 1 or 0")
    return TRUTHS[value]


def _check_addressable(value: Any) -> Any:
    texts = value if isinstance(value, set | list | dict) else (value,)
    for text in texts:
        problem = describe_unaddressable(text) if isinstance(text, str) else None
        if problem:
            raise PydanticCustomError("path", "{problem}", {"problem": problem})
    return value


ADDRESSABLE = AfterValidator(_check_addressable)
"""The check of text in a path: an id, each of a set of them, or the names of sections."""
Addressable = Annotated[str, ADDRESSABLE]
_INSTANT_EXAMPLE = Field(examples=["2026-11-21T01:05:40.123456Z"])
Instant = Annotated[
    dt.datetime, BeforeValidator(_render_instant), AfterValidator(_to_utc), _INSTANT_EXAMPLE
]
Day = Annotated[dt.date, BeforeValidator(_render_day), Field(examples=["2026-11-21"])]

_DECIMAL_FORMAT = {"type": "string", "format": "decimal"}
ShownDecimal = Annotated[Decimal, WithJsonSchema(_DECIMAL_FORMAT, mode="serialization")]
"""A decimal in an answer: text, which keeps all digits."""
DecimalText = Annotated[str, WithJsonSchema(_DECIMAL_FORMAT)]

_IN_JSON: dict[Any, Any] = {
    dt.datetime: Instant,
    dt.date: Day,
    int: Annotated[int, AfterValidator(_check_storable)],
    float: Annotated[
        float,
        Field(allow_inf_nan=False),
        BeforeValidator(_read_float),
        AfterValidator(_check_storable),
    ],
    Decimal: Annotated[
        Decimal,
        Field(allow_inf_nan=False),
        BeforeValidator(_read_decimal),
        AfterValidator(_check_storable),
    ],
}
_IN_TEXT: dict[Any, Any] = {
    **_IN_JSON,
    int: Annotated[int, BeforeValidator(_parse_integer_text), AfterValidator(_check_storable)],
    bool: Annotated[bool, BeforeValidator(parse_truth_text)],
}


def _parse_instant_or_day(value: Any) -> Any:
    try:
        return _render_day(value) if len(value) == len("2026-11-21") else _render_instant(value)
    except PydanticCustomError:
        raise PydanticCustomError(
            "instant",
            "Input should be a day, or a date and time with a time zone: 2026-11-21 or "
            "2026-11-21T01:05:40Z",
        ) from None


RANGE_TYPES: dict[str, Any] = {
    "str": str,
    "int": _IN_TEXT[int],
    "bool": _IN_TEXT[bool],
    "date": Day,
    "datetime": Annotated[dt.datetime | dt.date, BeforeValidator(_parse_instant_or_day)],
}
"""The types of the bounds of ranges in a query, by the kind of the field."""


def to_json_type(annotation: Any) -> Any:
    """The type as a body's field."""
    return _replace_types(annotation, _IN_JSON)


def to_text_type(annotation: Any) -> Any:
    """The type as a component of a path or as a query parameter."""
    return _replace_types(annotation, _IN_TEXT)


def to_shown_type(annotation: Any) -> Any:
    """The type in an answer: sets become lists, so that their order can be fixed."""
    return _replace_types(annotation, {set[str]: list[str], Decimal: ShownDecimal})


def render_instant(instant: dt.datetime) -> str:
    """An instant in UTC as an answer shows it."""
    return instant.isoformat().replace("+00:00", "Z")


def build_only(value: str) -> Any:
    """The type of a parameter that has one value. A boolean may be written in all of its ways."""
    if value in ("true", "false"):
        return Annotated[Literal[value], BeforeValidator(parse_truth_text)]
    return Literal[value]


def strip_none(annotation: Any) -> Any:
    """The type without None: a parameter is given or omitted, and never None."""
    inner = tuple(kind for kind in typing.get_args(annotation) if kind is not type(None))
    return Union[inner] if admits_none(annotation) and inner else annotation  # noqa: UP007


def list_union_members(annotation: Any) -> tuple[Any, ...]:
    """The members of a union; any other type alone."""
    is_union = typing.get_origin(annotation) in (Union, types.UnionType)
    return typing.get_args(annotation) if is_union else (annotation,)


def unite_types(*members: Any) -> Any:
    """The union of some types."""
    return reduce(or_, members)


def add_limits(annotation: Any, limits: Sequence[Any]) -> Any:
    """The type with limits, which precede its validators so that JSON Schema shows them.

    Of a union with None they are limits of its other members.
    """
    if not limits:
        return annotation
    if admits_none(annotation):
        members = (each for each in typing.get_args(annotation) if each is not type(None))
        return unite_types(*(add_limits(each, limits) for each in members), type(None))
    if typing.get_origin(annotation) is Annotated:
        inner, *more = typing.get_args(annotation)
        return Annotated[(inner, *limits, *more)]
    return Annotated[(annotation, *limits)]


def admits_none(annotation: Any) -> bool:
    """Whether None is a value of the type."""
    return annotation is None or type(None) in typing.get_args(annotation)


def _replace_types(annotation: Any, by: dict[Any, Any]) -> Any:
    try:
        if annotation in by:
            return by[annotation]
    except TypeError:  # metadata need not be hashable
        pass
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return Annotated[(_replace_types(inner[0], by), *inner[1:])]
    if origin in (Union, types.UnionType):
        return Union[tuple(_replace_types(argument, by) for argument in inner)]  # noqa: UP007
    if origin in (list, set, dict, tuple):
        return origin[tuple(_replace_types(argument, by) for argument in inner)]
    return annotation
