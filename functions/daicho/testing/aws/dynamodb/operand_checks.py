"""What DynamoDB checks in expressions when it has the placeholders of a request.

Everything else about an expression follows from its text, and is checked when it is parsed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from daicho.testing.aws.attribute_values import InvalidRequestError, Value, compare
from daicho.testing.aws.dynamodb.expression_parser import OperandCheck, ParsedExpression, Path
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
    _compare_placeholders("name", names, used_names)
    _compare_placeholders("value", values, used_values)
    names, values = names or NO_NAMES, values or NO_VALUES
    for value in values.values():
        check_value(value)
    if "" in names.values():
        raise InvalidRequestError("a placeholder is an empty name")
    for parsed in used:
        if len(parsed.targets) > 1:
            _check_targets(parsed.targets, names)
        for check in parsed.checks:
            _check_operand(check, names, values)


def _compare_placeholders(
    kind: str, defined: Mapping[str, object] | None, used: frozenset[str]
) -> None:
    if defined is None:
        if used:
            raise InvalidRequestError(f"a {kind} is not defined: {', '.join(sorted(used))}")
    elif not defined or defined.keys() != used:
        odd = ", ".join(sorted(defined.keys() ^ used))
        raise InvalidRequestError(f"a {kind} is not defined, or not used: {odd}")


def resolve_path(path: Path, names: Mapping[str, str]) -> Path:
    """A path with its placeholders replaced."""
    if len(path) == 1:
        return path if path[0] not in names else (names[str(path[0])],)
    return tuple(names.get(step, step) if isinstance(step, str) else step for step in path)


@lru_cache(maxsize=4096)
def _collect_placeholders(*used: ParsedExpression) -> tuple[frozenset[str], frozenset[str]]:
    names = frozenset[str]().union(*(parsed.names for parsed in used))
    return names, frozenset[str]().union(*(parsed.values for parsed in used))


def _check_targets(targets: Sequence[Path], names: Mapping[str, str]) -> None:
    """Refuse paths of which one is inside the other, or that make one value a list and a map."""
    if len({names.get(str(path[0]), path[0]) for path in targets}) == len(targets):
        return
    paths = [resolve_path(path, names) for path in targets]
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
    check: OperandCheck, names: Mapping[str, str], values: Mapping[str, Value]
) -> None:
    kind, first, second = check
    if kind == "kinds":
        if values[first].keys().isdisjoint(second):
            raise InvalidRequestError(
                f"an operand has the type {'/'.join(values[first])}, not one of {second}"
            )
    elif kind == "distinct":
        if resolve_path(first, names) == resolve_path(second, names):
            raise InvalidRequestError(f"an attribute is compared with itself: {first}")
    elif kind == "order":
        if values[first].keys() != values[second].keys():
            raise InvalidRequestError("the bounds of BETWEEN have different types")
        if compare(values[first], values[second]) == 1:
            raise InvalidRequestError("the lower bound of BETWEEN is greater than the upper")
    elif values[first].get("S") not in TYPES:
        raise InvalidRequestError(f"no type is called {values[first]}")
