"""Attribute values as DynamoDB compares and adds them. Values are never changed in place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Context, Decimal
from typing import Any

Value = Mapping[str, Any]
Image = Mapping[str, Value]
SETS = ("SS", "NS", "BS")
EXACT = Context(prec=300)
"""For sums without rounding: DynamoDB's numbers have 38 digits, from 1e-130 to 1e126."""


class InvalidRequestError(Exception):
    """DynamoDB answers ValidationException."""


class InvalidActionError(InvalidRequestError):
    """DynamoDB finds the error only when it has the table's schema or the item.

    In a transaction it is the reason ValidationError of the action.
    """


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
        return _index_members(kind, first).keys() == _index_members(kind, second).keys()
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
    if one is None:
        return other
    if kind not in one:
        raise InvalidActionError("ADD to an attribute of another type")
    if kind == "N":
        return add_numbers(one, other)
    members = _index_members(kind, one[kind]) | _index_members(kind, second)
    return {kind: sorted(members.values())}


def subtract_set(one: Value | None, other: Value) -> Value | None:
    """The result of DELETE on a set; None if it is empty."""
    ((kind, second),) = other.items()
    if one is None:
        return None
    if kind not in one:
        raise InvalidActionError("DELETE from an attribute of another type")
    removed = _index_members(kind, second)
    members = _index_members(kind, one[kind])
    left = {member: text for member, text in members.items() if member not in removed}
    return {kind: sorted(left.values())} if left else None


def add_numbers(one: Value, other: Value) -> Value:
    """The sum of two numbers."""
    if "N" not in one or "N" not in other:
        raise InvalidActionError("an operand of a sum is no number")
    try:
        return {"N": str(int(one["N"]) + int(other["N"]))}
    except ValueError:
        return {"N": format(EXACT.add(Decimal(one["N"]), Decimal(other["N"])), "f")}


def begins_with(one: Value, other: Value) -> bool:
    """Whether a string or binary value begins with another."""
    ((kind, content),) = one.items()
    return kind in ("S", "B") and kind in other and bool(content.startswith(other[kind]))


def contains(one: Value, other: Value) -> bool:
    """Whether a string or binary value holds another.

    Raises:
        NotImplementedError: the first is of another type, such as a set or list that holds values.
    """
    ((kind, content),) = one.items()
    if kind not in ("S", "B"):
        raise NotImplementedError(f"contains is not simulated for a value of type {kind}")
    return kind in other and other[kind] in content


def _index_members(kind: str, members: Iterable[Any]) -> dict[Any, Any]:
    """The members of a set by what makes them different: numbers by their values."""
    return {Decimal(member) if kind == "NS" else member: member for member in members}
