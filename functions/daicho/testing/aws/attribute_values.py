"""Attribute values as DynamoDB compares, adds and nests them. Values are never changed in place."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Context, Decimal
from typing import Any

Value = Mapping[str, Any]
Image = Mapping[str, Value]
SETS = ("SS", "NS", "BS")
_NUMBERS = Context(prec=38)
"""DynamoDB's numbers have 38 digits."""


class InvalidRequestError(Exception):
    """DynamoDB answers ValidationException."""


def get_at(item: Image, path: tuple[str | int, ...]) -> Value | None:
    """The value at a document path, or None."""
    value = item.get(path[0])  # type: ignore[arg-type]  # a path begins with a name
    for step in path[1:]:
        if value is None:
            return None
        if isinstance(step, int):
            elements = value.get("L", ())
            value = elements[step] if step < len(elements) else None
        else:
            value = value.get("M", {}).get(step)
    return value


def set_at(item: dict[str, Value], path: tuple[str | int, ...], value: Value) -> None:
    """Set the value at a path; its parents must exist."""
    first = str(path[0])
    if len(path) == 1:
        item[first] = value
    elif first not in item:
        raise InvalidRequestError(f"the document path {path} is invalid for update")
    else:
        item[first] = _set_inside(item[first], path[1:], value)


def remove_at(item: dict[str, Value], path: tuple[str | int, ...]) -> None:
    """Remove the value at a path; its parents must exist."""
    first = str(path[0])
    if len(path) == 1:
        item.pop(first, None)
    elif first not in item:
        raise InvalidRequestError(f"the document path {path} is invalid for update")
    else:
        item[first] = _set_inside(item[first], path[1:], None)


def _set_inside(inside: Value, path: tuple[str | int, ...], value: Value | None) -> Value:
    """A copy of ``inside`` with ``value`` at the path; None removes."""
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        if "L" not in inside:
            raise InvalidRequestError("an index into a value that is not a list")
        elements = list(inside["L"])
        if rest:
            elements[step] = _set_inside(elements[step], rest, value)
        elif value is None:
            del elements[step : step + 1]
        elif step < len(elements):
            elements[step] = value
        else:
            elements.append(value)
        return {"L": elements}
    if "M" not in inside:
        raise InvalidRequestError("a name in a value that is not a map")
    members = dict(inside["M"])
    if rest:
        if step not in members:
            raise InvalidRequestError("a document path is invalid for update")
        members[step] = _set_inside(members[step], rest, value)
    elif value is None:
        members.pop(step, None)
    else:
        members[step] = value
    return {"M": members}


def are_equal(one: Value | None, other: Value | None) -> bool:
    """Whether two values are equal: of one type, numbers by value, sets in any order."""
    if one is None or other is None:
        return False
    if one == other:
        return True
    ((kind, first),), ((other_kind, second),) = one.items(), other.items()
    if kind != other_kind:
        return False
    if kind == "N":
        return Decimal(first) == Decimal(second)
    if kind in SETS:
        return set(first) == set(second)
    if kind == "L":
        return len(first) == len(second) and all(map(are_equal, first, second))
    if kind == "M":
        return first.keys() == second.keys() and all(are_equal(first[k], second[k]) for k in first)
    return False


def compare(one: Value | None, other: Value | None) -> int | None:
    """-1, 0 or 1; None if the types differ, have no order, or a value is absent."""
    if one is None or other is None:
        return None
    ((kind, first),), ((other_kind, second),) = one.items(), other.items()
    if kind != other_kind or kind not in ("S", "N", "B"):
        return None
    if kind == "N":
        first, second = Decimal(first), Decimal(second)
    return int(first > second) - int(first < second)


def add_values(one: Value | None, other: Value) -> Value:
    """The result of ADD: a sum of numbers, a union of sets."""
    ((kind, second),) = other.items()
    if kind != "N" and kind not in SETS:
        raise InvalidRequestError(f"ADD takes a number or a set, not {kind}")
    if one is None:
        return other
    if kind not in one:
        raise InvalidRequestError("ADD to an attribute of another type")
    if kind == "N":
        return {"N": _sum(one["N"], second)}
    return {kind: sorted({*one[kind], *second})}


def subtract_set(one: Value | None, other: Value) -> Value | None:
    """The result of DELETE on a set; None if it is empty."""
    ((kind, second),) = other.items()
    if kind not in SETS:
        raise InvalidRequestError(f"DELETE takes a set, not {kind}")
    left = sorted(set((one or {}).get(kind, ())) - set(second))
    return {kind: left} if left else None


def negate(value: Value) -> Value:
    """The number with the other sign."""
    return {"N": str(_NUMBERS.minus(Decimal(value["N"])))}


def append_lists(one: Value | None, other: Value | None) -> Value:
    """The result of list_append."""
    if one is None or other is None or "L" not in one or "L" not in other:
        raise InvalidRequestError("list_append takes two lists")
    return {"L": [*one["L"], *other["L"]]}


def measure_size(value: Value | None) -> Value | None:
    """The result of size: the length of a string, list, map or set."""
    if value is None:
        return None
    ((kind, content),) = value.items()
    return {"N": str(len(content.encode() if kind == "S" else content))}


def contains(one: Value, other: Value | None) -> bool:
    """Whether a string holds another, or a set or list a value."""
    if other is None:
        return False
    ((kind, content),) = one.items()
    ((other_kind, wanted),) = other.items()
    if kind == "S":
        return other_kind == "S" and wanted in content
    if kind == "L":
        return any(are_equal(element, other) for element in content)
    return kind == other_kind + "S" and wanted in content


def _sum(one: str, other: str) -> str:
    try:
        return str(int(one) + int(other))
    except ValueError:
        return format(_NUMBERS.add(Decimal(one), Decimal(other)), "f")
