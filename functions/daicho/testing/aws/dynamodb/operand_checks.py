"""What DynamoDB checks in expressions when it has the placeholders of a request.

Everything else about an expression follows from its text, and is checked when it is parsed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from daicho.testing.aws.attribute_values import InvalidRequestError, Value, compare
from daicho.testing.aws.dynamodb.expression_parser import ParsedExpression, Path
from daicho.testing.aws.dynamodb.value_checks import check_value

TYPES = frozenset({"S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL", "BOOL"})
NO_NAMES: Mapping[str, str] = {}
NO_VALUES: Mapping[str, Value] = {}


def check_placeholders(
    used: Sequence[ParsedExpression],
    names: Mapping[str, str] | None,
    values: Mapping[str, Value] | None,
) -> None:
    """Refuse placeholders that are not defined or not used, wrong values and wrong operands.

    ``names`` and ``values`` are None if the request has none: DynamoDB refuses empty ones.
    """
    used_names, used_values = _collect_placeholders(*used)
    for kind, defined, wanted in (("name", names, used_names), ("value", values, used_values)):
        if defined is None:
            if wanted:
                raise InvalidRequestError(f"a {kind} is not defined: {', '.join(sorted(wanted))}")
        elif not defined or defined.keys() != wanted:
            odd = ", ".join(sorted(defined.keys() ^ wanted))
            raise InvalidRequestError(f"a {kind} is not defined, or not used: {odd}")
    if values:
        for value in values.values():
            check_value(value)
    if names and not all(names.values()):
        raise InvalidRequestError("a placeholder is an empty name")
    for parsed in used:
        if len(parsed.targets) > 1:
            check_overlaps([resolve_path(path, names or NO_NAMES) for path in parsed.targets])
        for check in parsed.checks:
            _check_operand(check, names or NO_NAMES, values or NO_VALUES)


def resolve_path(path: Path, names: Mapping[str, str]) -> Path:
    """A path with its placeholders replaced."""
    return tuple(names.get(step, step) if isinstance(step, str) else step for step in path)


@lru_cache(maxsize=4096)
def _collect_placeholders(*used: ParsedExpression) -> tuple[frozenset[str], frozenset[str]]:
    names = frozenset[str]().union(*(parsed.names for parsed in used))
    return names, frozenset[str]().union(*(parsed.values for parsed in used))


def check_overlaps(paths: Sequence[Path]) -> None:
    """Refuse paths of which one is inside the other, or that make one value a list and a map."""
    if len({path[0] for path in paths}) == len(paths):
        return
    for place, one in enumerate(paths):
        for other in paths[place + 1 :]:
            for step, other_step in zip(one, other, strict=False):
                if type(step) is not type(other_step):
                    raise InvalidRequestError(f"two document paths conflict: {one}, {other}")
                if step != other_step:
                    break
            else:
                raise InvalidRequestError(f"two document paths overlap: {one}, {other}")


def _check_operand(
    check: tuple[object, ...], names: Mapping[str, str], values: Mapping[str, Value]
) -> None:
    match check:
        case ("kinds", str() as name, tuple() as kinds):
            (kind,) = values[name]
            if kind not in kinds:
                raise InvalidRequestError(f"an operand has the type {kind}, not one of {kinds}")
        case ("distinct", tuple() as first, tuple() as second):
            if resolve_path(first, names) == resolve_path(second, names):
                raise InvalidRequestError(f"an attribute is compared with itself: {first}")
        case ("order", str() as low, str() as high):
            if values[low].keys() != values[high].keys():
                raise InvalidRequestError("the bounds of BETWEEN have different types")
            if compare(values[low], values[high]) == 1:
                raise InvalidRequestError("the lower bound of BETWEEN is greater than the upper")
        case ("type name", str() as name):
            if values[name].get("S") not in TYPES:
                raise InvalidRequestError(f"no type is called {values[name]}")
