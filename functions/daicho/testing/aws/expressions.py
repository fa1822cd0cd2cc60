"""DynamoDB's expressions: parsed once, cached by their text, evaluated on any item.

The grammar is DynamoDB's own (conditions, updates, projections, document paths), so that an
expression of the code under test is accepted or refused as by DynamoDB, never in part.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from daicho.testing.aws import attribute_values
from daicho.testing.aws.attribute_values import (
    Image,
    InvalidRequestError,
    Value,
    add_values,
    are_equal,
    compare,
)

TOKEN = re.compile(r"\s*(?:([#:]?[A-Za-z_][\w-]*|[#:]\w+)|(\d+)|(<>|<=|>=|[=<>(),.\[\]+-]))")
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")

FUNCTIONS = (
    "attribute_exists",
    "attribute_not_exists",
    "attribute_type",
    "begins_with",
    "contains",
)

Step = str | int
Path = tuple[Step, ...]
Node = tuple[Any, ...]


@dataclass(frozen=True)
class Scope:
    """An item, and the values of the placeholders of a request."""

    item: Image
    names: Mapping[str, str]
    values: Mapping[str, Value]

    def resolve(self, path: Path) -> Path:
        """A path with its placeholders replaced."""
        names = self.names
        return tuple(names.get(step, step) if isinstance(step, str) else step for step in path)

    def get(self, path: Path) -> Value | None:
        """The value at a path, or None."""
        return attribute_values.get_at(self.item, self.resolve(path))


@dataclass(frozen=True)
class ParsedExpression:
    """An expression, and the placeholders that it uses."""

    tree: Any
    names: frozenset[str]
    values: frozenset[str]


@lru_cache(maxsize=4096)
def parse_condition(text: str) -> ParsedExpression:
    """Parse a condition, a filter or a key condition."""
    return _parse_whole(_ExpressionReader(text), _ExpressionReader.read_condition)


@lru_cache(maxsize=4096)
def parse_update(text: str) -> ParsedExpression:
    """Read an update: the read_clauses' actions in order."""
    return _parse_whole(_ExpressionReader(text), _ExpressionReader.read_clauses)


@lru_cache(maxsize=4096)
def parse_projection(text: str) -> ParsedExpression:
    """Parse a projection: its paths."""
    return _parse_whole(_ExpressionReader(text), _ExpressionReader.read_paths)


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
    """The item after an update; every action reads the item as it was before."""
    new = dict(scope.item)
    todo = [(verb, scope.resolve(path), value) for verb, path, value in tree]
    _check_overlaps([path for _, path, _ in todo])
    for verb, path, value in todo:
        if verb == "SET":
            result = evaluate_operand(value, scope)
            if result is None:
                raise InvalidRequestError(
                    "the expression refers to an attribute that does not exist"
                )
            attribute_values.set_at(new, path, result)
        elif verb == "REMOVE":
            attribute_values.remove_at(new, path)
        else:
            change = add_values if verb == "ADD" else attribute_values.subtract_set
            left = change(attribute_values.get_at(scope.item, path), scope.values[value[1]])
            if left is None:
                attribute_values.remove_at(new, path)
            else:
                attribute_values.set_at(new, path, left)
    return new


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
                raise InvalidRequestError(
                    "the expression refers to an attribute that does not exist"
                )
            return add_values(left, attribute_values.negate(right) if sign == "-" else right)
    raise AssertionError(node)


def find_equalities(node: Node, scope: Scope) -> Iterator[tuple[Path, Value | None]]:
    """The attributes that a condition of ANDs compares with ``=``."""
    if node[0] == "and":
        for part in node[1]:
            yield from find_equalities(part, scope)
    elif node[0] == "compared" and node[1] == "=":
        yield scope.resolve(node[2][0][1]), evaluate_operand(node[2][1], scope)


def _is_function_true(name: str, arguments: list[Node], scope: Scope) -> bool:
    if name not in FUNCTIONS:
        raise InvalidRequestError(f"no function is called {name}")
    first = scope.get(arguments[0][1])
    if name == "attribute_exists":
        return first is not None
    if name == "attribute_not_exists":
        return first is None
    second = evaluate_operand(arguments[1], scope)
    if name == "begins_with":
        return (
            first is not None
            and second is not None
            and "S" in first
            and bool(first["S"].startswith(second["S"]))
        )
    if name == "contains":
        return first is not None and attribute_values.contains(first, second)
    return first is not None and second is not None and second["S"] in first


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


def _check_overlaps(paths: list[Path]) -> None:
    if len(paths) == 1:
        return
    for place, one in enumerate(paths):
        for other in paths[place + 1 :]:
            shorter = min(len(one), len(other))
            if one[:shorter] == other[:shorter]:
                raise InvalidRequestError(f"two document paths overlap: {one}, {other}")


def _parse_whole(
    reader: _ExpressionReader, read: Callable[[_ExpressionReader], Any]
) -> ParsedExpression:
    tree = read(reader)
    if reader.next is not None:
        raise InvalidRequestError(f"syntax error near {reader.next}: {reader.text}")
    words = [token for token in reader.tokens if token is not None]
    return ParsedExpression(
        tree,
        frozenset(word for word in words if word.startswith("#")),
        frozenset(word for word in words if word.startswith(":")),
    )


class _ExpressionReader:
    """Recursive descent over an expression's tokens."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[str | None] = []
        self._place = end = 0
        while end < len(text.rstrip()):
            token = TOKEN.match(text, end)
            if token is None:
                raise InvalidRequestError(f"syntax error at {text[end:]!r}: {text}")
            self.tokens.append(token[1] or token[2] or token[3])
            end = token.end()
        self.tokens.append(None)

    @property
    def next(self) -> str | None:
        return self.tokens[self._place]

    def take(self, *wanted: str) -> str:
        token = self.next
        if token is None or (wanted and token.upper() not in wanted):
            raise InvalidRequestError(f"{' or '.join(wanted) or 'more'} is missing: {self.text}")
        self._place += 1
        return token

    def skip(self, *wanted: str) -> bool:
        if self.next is not None and self.next.upper() in wanted:
            self._place += 1
            return True
        return False

    def read_condition(self) -> Node:
        nodes = [self._read_conjunction()]
        while self.skip("OR"):
            nodes.append(self._read_conjunction())
        return nodes[0] if len(nodes) == 1 else ("or", nodes)

    def _read_conjunction(self) -> Node:
        nodes = [self._read_term()]
        while self.skip("AND"):
            nodes.append(self._read_term())
        return nodes[0] if len(nodes) == 1 else ("and", nodes)

    def _read_term(self) -> Node:
        if self.skip("NOT"):
            return ("not", self._read_term())
        if self.skip("("):
            inner = self.read_condition()
            self.take(")")
            return inner
        if self._is_at_call() and self.next != "size":
            name, _ = self.take(), self.take("(")
            return ("call", name, self._read_list(self._read_operand))
        left = self._read_operand()
        if self.skip("BETWEEN"):
            low, _, high = self._read_operand(), self.take("AND"), self._read_operand()
            return ("between", "", [left, low, high])
        if self.skip("IN"):
            self.take("(")
            return ("in", "", [left, *self._read_list(self._read_operand)])
        return ("compared", self.take(*COMPARISONS), [left, self._read_operand()])

    def read_clauses(self) -> list[Node]:
        nodes: list[Node] = []
        while self.next is not None:
            verb = self.take("SET", "REMOVE", "ADD", "DELETE").upper()
            nodes.append(self._read_action(verb))
            while self.skip(","):
                nodes.append(self._read_action(verb))
        return nodes

    def _read_action(self, verb: str) -> Node:
        path = self.read_path()
        if verb == "REMOVE":
            return (verb, path, None)
        if verb != "SET":
            return (verb, path, ("value", self.take()))
        self.take("=")
        value = self._read_operand()
        if self.next in ("+", "-"):
            value = ("sum", self.take(), value, self._read_operand())
        return (verb, path, value)

    def _read_operand(self) -> Node:
        if self.next is not None and self.next.startswith(":"):
            return ("value", self.take())
        if not self._is_at_call():
            return ("path", self.read_path())
        name, _ = self.take("SIZE", "IF_NOT_EXISTS", "LIST_APPEND"), self.take("(")
        arguments = self._read_list(self._read_operand)
        if name == "size":
            return ("size", arguments[0][1])
        if name == "if_not_exists":
            return ("if_not_exists", arguments[0][1], arguments[1])
        return (name, *arguments)

    def _is_at_call(self) -> bool:
        return self.next is not None and self.tokens[self._place + 1] == "("

    def _read_list(self, read: Callable[[], Node]) -> list[Node]:
        nodes = [read()]
        while self.skip(","):
            nodes.append(read())
        self.take(")")
        return nodes

    def read_paths(self) -> list[Path]:
        nodes = [self.read_path()]
        while self.skip(","):
            nodes.append(self.read_path())
        return nodes

    def read_path(self) -> Path:
        steps: list[Step] = [self.take()]
        while self.next in (".", "["):
            if self.take() == ".":
                steps.append(self.take())
            else:
                steps.append(int(self.take()))
                self.take("]")
        return tuple(steps)
