"""DynamoDB's expressions, evaluated on any item. `expression_parser` parses them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from daicho.testing.aws import attribute_values
from daicho.testing.aws.attribute_values import (
    Image,
    InvalidActionError,
    Value,
    add_values,
    are_equal,
    compare,
)
from daicho.testing.aws.dynamodb.expression_parser import Node, Path
from daicho.testing.aws.dynamodb.operand_checks import resolve_path


@dataclass(slots=True)
class Scope:
    """An item, and the values of the placeholders of a request."""

    item: Image
    names: Mapping[str, str]
    values: Mapping[str, Value]

    def resolve(self, path: Path) -> Path:
        """A path with its placeholders replaced."""
        return resolve_path(path, self.names) if self.names else path

    def get(self, path: Path) -> Value | None:
        """The value at a path, or None."""
        return attribute_values.get_at(self.item, self.resolve(path))


def is_true(node: Node, scope: Scope) -> bool:
    """Whether a condition is true of an item."""
    kind = node[0]
    if kind == "or":
        return any(is_true(part, scope) for part in node[1])
    if kind == "and":
        return all(is_true(part, scope) for part in node[1])
    if kind == "not":
        return not is_true(node[1], scope)
    if kind == "call":
        return _is_function_true(node[1], node[2], scope)
    operands = [evaluate_operand(operand, scope) for operand in node[2]]
    if kind == "in":
        return any(are_equal(operands[0], operand) for operand in operands[1:])
    if kind == "between":
        low, high = compare(operands[1], operands[0]), compare(operands[0], operands[2])
        return low is not None and high is not None and low <= 0 and high <= 0
    return _is_comparison_true(node[1], operands[0], operands[1])


def apply_update(tree: list[Node], scope: Scope) -> dict[str, Value]:
    """The item after an update; every action reads the item as it was before.

    Raises:
        InvalidActionError: A path or an operand does not fit the item.
    """
    new = dict(scope.item)
    removed: list[Path] = []
    for verb, unresolved, operand in tree:
        path = scope.resolve(unresolved)
        if verb == "SET":
            value = evaluate_operand(operand, scope)
            if value is None:
                raise InvalidActionError(
                    "the expression refers to an attribute that does not exist"
                )
        elif verb == "REMOVE":
            removed.append(path)
            continue
        else:
            change = add_values if verb == "ADD" else attribute_values.subtract_set
            value = change(attribute_values.get_at(scope.item, path), scope.values[operand[1]])
        if value is None:
            attribute_values.remove_at(new, path)
        else:
            attribute_values.set_at(new, path, value)
    # From the end of each list, so that the indexes of the other elements are still right.
    for path in sorted(removed, reverse=True) if len(removed) > 1 else removed:
        attribute_values.remove_at(new, path)
    return new


def project(item: Image, paths: Iterable[Path]) -> dict[str, Value]:
    """The parts of an item at some paths, inside the maps and lists that they are in."""
    kept: dict[str | int, object] = {}
    for path in paths:
        if attribute_values.get_at(item, path) is None:
            continue
        inside = kept
        for step in path[:-1]:
            inside = inside.setdefault(step, {})  # type: ignore[assignment]  # a branch
        inside[path[-1]] = None
    return {str(name): _cut(item[str(name)], branches) for name, branches in kept.items()}


def _cut(value: Value, branches: object) -> Value:
    """A value with only some of its members or elements; None keeps all."""
    if not isinstance(branches, dict):
        return value
    if "L" in value:
        return {"L": [_cut(value["L"][place], branches[place]) for place in sorted(branches)]}
    return {"M": {name: _cut(value["M"][name], below) for name, below in branches.items()}}


def evaluate_operand(node: Node, scope: Scope) -> Value | None:
    """The value of an operand, or None if the item has none."""
    match node:
        case ("value", name):
            return scope.values[name]
        case ("path", path):
            return scope.get(path)
        case ("size", path):
            return attribute_values.measure_size(scope.get(path))
        case ("if_not_exists", path, other):
            existing = scope.get(path)
            return evaluate_operand(other, scope) if existing is None else existing
        case ("list_append", first, second):
            return attribute_values.append_lists(
                evaluate_operand(first, scope), evaluate_operand(second, scope)
            )
        case ("sum", sign, first, second):
            left, right = evaluate_operand(first, scope), evaluate_operand(second, scope)
            if left is None or right is None:
                raise InvalidActionError(
                    "the expression refers to an attribute that does not exist"
                )
            return attribute_values.add_numbers(left, right, negated=sign == "-")
    raise AssertionError(node)


def _is_function_true(name: str, arguments: list[Node], scope: Scope) -> bool:
    first = evaluate_operand(arguments[0], scope)
    if name == "attribute_exists":
        return first is not None
    if name == "attribute_not_exists":
        return first is None
    second = evaluate_operand(arguments[1], scope)
    if first is None or second is None:
        return False
    if name == "begins_with":
        return attribute_values.begins_with(first, second)
    if name == "contains":
        return attribute_values.contains(first, second)
    return second["S"] in first


def _is_comparison_true(comparison: str, left: Value | None, right: Value | None) -> bool:
    if comparison == "=":
        return are_equal(left, right)
    if comparison == "<>":
        return not are_equal(left, right)
    order = compare(left, right)
    if order is None:
        return False
    match comparison:
        case "<":
            return order < 0
        case "<=":
            return order <= 0
        case ">":
            return order > 0
        case _:
            return order >= 0
