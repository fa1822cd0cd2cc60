"""DynamoDB's expressions: read once, kept by their text, run on any item.

The grammar is DynamoDB's own (conditions, updates, projections, document paths), so that what the
code under test asks is understood or refused as the real one would, never half of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tests.delivery.aws import attributes
from tests.delivery.aws.attributes import Image, InvalidError, Value, alike, compare, plus

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
    """An item, and what the placeholders of a request stand for."""

    item: Image
    names: Mapping[str, str]
    values: Mapping[str, Value]

    def path(self, path: Path) -> Path:
        """A path with its placeholders replaced."""
        names = self.names
        return tuple(names.get(step, step) if isinstance(step, str) else step for step in path)

    def at(self, path: Path) -> Value | None:
        """What stands there, or None."""
        return attributes.at(self.item, self.path(path))


@dataclass(frozen=True)
class Parsed:
    """An expression, and the placeholders that it uses."""

    tree: Any
    names: frozenset[str]
    values: frozenset[str]


@lru_cache(maxsize=4096)
def condition(text: str) -> Parsed:
    """Read a condition, a filter or a key condition."""
    return _whole(_Reader(text), _Reader.alternatives)


@lru_cache(maxsize=4096)
def update(text: str) -> Parsed:
    """Read an update: the clauses' actions in order."""
    return _whole(_Reader(text), _Reader.clauses)


@lru_cache(maxsize=4096)
def projection(text: str) -> Parsed:
    """Read a projection: its paths."""
    return _whole(_Reader(text), _Reader.paths)


def holds(node: Node, scope: Scope) -> bool:
    """Whether a condition is true of an item."""
    kind = node[0]
    if kind == "or":
        return any(holds(each, scope) for each in node[1])
    if kind == "and":
        return all(holds(each, scope) for each in node[1])
    if kind == "not":
        return not holds(node[1], scope)
    if kind == "call":
        return _call(node[1], node[2], scope)
    found = [value_of(each, scope) for each in node[2]]
    if kind == "in":
        return any(alike(found[0], each) for each in found[1:])
    if kind == "between":
        low, high = compare(found[1], found[0]), compare(found[0], found[2])
        return low is not None and high is not None and low <= 0 and high <= 0
    return _compared(node[1], found[0], found[1])


def changed(tree: list[Node], scope: Scope) -> dict[str, Value]:
    """The item that an update makes; all of it reads the item as it was before."""
    new = dict(scope.item)
    todo = [(verb, scope.path(path), value) for verb, path, value in tree]
    _check_apart([path for _, path, _ in todo])
    for verb, path, value in todo:
        if verb == "SET":
            found = value_of(value, scope)
            if found is None:
                raise InvalidError("the expression refers to an attribute that does not exist")
            attributes.put(new, path, found)
        elif verb == "REMOVE":
            attributes.remove(new, path)
        else:
            change = plus if verb == "ADD" else attributes.without
            left = change(attributes.at(scope.item, path), scope.values[value[1]])
            if left is None:
                attributes.remove(new, path)
            else:
                attributes.put(new, path, left)
    return new


def value_of(node: Node, scope: Scope) -> Value | None:
    """An operand's value, or None where the item has none."""
    match node:
        case ("value", name):
            return scope.values[name]
        case ("path", path):
            return scope.at(path)
        case ("size", path):
            return attributes.size(scope.at(path))
        case ("if_not_exists", path, other):
            found = scope.at(path)
            return value_of(other, scope) if found is None else found
        case ("list_append", first, second):
            return attributes.joined(value_of(first, scope), value_of(second, scope))
        case ("sum", sign, first, second):
            left, right = value_of(first, scope), value_of(second, scope)
            if left is None or right is None:
                raise InvalidError("the expression refers to an attribute that does not exist")
            return plus(left, attributes.negative(right) if sign == "-" else right)
    raise AssertionError(node)


def equalities(node: Node, scope: Scope) -> Iterator[tuple[Path, Value | None]]:
    """The attributes that a condition of ANDs compares with ``=``."""
    if node[0] == "and":
        for each in node[1]:
            yield from equalities(each, scope)
    elif node[0] == "compared" and node[1] == "=":
        yield scope.path(node[2][0][1]), value_of(node[2][1], scope)


def _call(name: str, arguments: list[Node], scope: Scope) -> bool:
    if name not in FUNCTIONS:
        raise InvalidError(f"no function is called {name}")
    first = scope.at(arguments[0][1])
    if name == "attribute_exists":
        return first is not None
    if name == "attribute_not_exists":
        return first is None
    second = value_of(arguments[1], scope)
    if name == "begins_with":
        return (
            first is not None
            and second is not None
            and "S" in first
            and bool(first["S"].startswith(second["S"]))
        )
    if name == "contains":
        return first is not None and attributes.contains(first, second)
    return first is not None and second is not None and second["S"] in first


def _compared(comparison: str, left: Value | None, right: Value | None) -> bool:
    if comparison == "=":
        return alike(left, right)
    if comparison == "<>":
        return not alike(left, right)
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


def _check_apart(paths: list[Path]) -> None:
    if len(paths) == 1:
        return
    for place, one in enumerate(paths):
        for other in paths[place + 1 :]:
            shorter = min(len(one), len(other))
            if one[:shorter] == other[:shorter]:
                raise InvalidError(f"two document paths overlap: {one}, {other}")


def _whole(reader: _Reader, read: Callable[[_Reader], Any]) -> Parsed:
    tree = read(reader)
    if reader.next is not None:
        raise InvalidError(f"syntax error near {reader.next}: {reader.text}")
    words = [token for token in reader.tokens if token is not None]
    return Parsed(
        tree,
        frozenset(word for word in words if word.startswith("#")),
        frozenset(word for word in words if word.startswith(":")),
    )


class _Reader:
    """Recursive descent over an expression's tokens."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[str | None] = []
        self._place = end = 0
        while end < len(text.rstrip()):
            found = TOKEN.match(text, end)
            if found is None:
                raise InvalidError(f"syntax error at {text[end:]!r}: {text}")
            self.tokens.append(found[1] or found[2] or found[3])
            end = found.end()
        self.tokens.append(None)

    @property
    def next(self) -> str | None:
        return self.tokens[self._place]

    def take(self, *wanted: str) -> str:
        token = self.next
        if token is None or (wanted and token.upper() not in wanted):
            raise InvalidError(f"{' or '.join(wanted) or 'more'} is missing: {self.text}")
        self._place += 1
        return token

    def skip(self, *wanted: str) -> bool:
        if self.next is not None and self.next.upper() in wanted:
            self._place += 1
            return True
        return False

    def alternatives(self) -> Node:
        found = [self._all()]
        while self.skip("OR"):
            found.append(self._all())
        return found[0] if len(found) == 1 else ("or", found)

    def _all(self) -> Node:
        found = [self._one()]
        while self.skip("AND"):
            found.append(self._one())
        return found[0] if len(found) == 1 else ("and", found)

    def _one(self) -> Node:
        if self.skip("NOT"):
            return ("not", self._one())
        if self.skip("("):
            inner = self.alternatives()
            self.take(")")
            return inner
        if self._calls() and self.next != "size":
            name, _ = self.take(), self.take("(")
            return ("call", name, self._list(self._operand))
        left = self._operand()
        if self.skip("BETWEEN"):
            low, _, high = self._operand(), self.take("AND"), self._operand()
            return ("between", "", [left, low, high])
        if self.skip("IN"):
            self.take("(")
            return ("in", "", [left, *self._list(self._operand)])
        return ("compared", self.take(*COMPARISONS), [left, self._operand()])

    def clauses(self) -> list[Node]:
        found: list[Node] = []
        while self.next is not None:
            verb = self.take("SET", "REMOVE", "ADD", "DELETE").upper()
            found.append(self._action(verb))
            while self.skip(","):
                found.append(self._action(verb))
        return found

    def _action(self, verb: str) -> Node:
        path = self.path()
        if verb == "REMOVE":
            return (verb, path, None)
        if verb != "SET":
            return (verb, path, ("value", self.take()))
        self.take("=")
        value = self._operand()
        if self.next in ("+", "-"):
            value = ("sum", self.take(), value, self._operand())
        return (verb, path, value)

    def _operand(self) -> Node:
        if self.next is not None and self.next.startswith(":"):
            return ("value", self.take())
        if not self._calls():
            return ("path", self.path())
        name, _ = self.take("SIZE", "IF_NOT_EXISTS", "LIST_APPEND"), self.take("(")
        found = self._list(self._operand)
        if name == "size":
            return ("size", found[0][1])
        if name == "if_not_exists":
            return ("if_not_exists", found[0][1], found[1])
        return (name, *found)

    def _calls(self) -> bool:
        return self.next is not None and self.tokens[self._place + 1] == "("

    def _list(self, read: Callable[[], Node]) -> list[Node]:
        found = [read()]
        while self.skip(","):
            found.append(read())
        self.take(")")
        return found

    def paths(self) -> list[Path]:
        found = [self.path()]
        while self.skip(","):
            found.append(self.path())
        return found

    def path(self) -> Path:
        found: list[Step] = [self.take()]
        while self.next in (".", "["):
            if self.take() == ".":
                found.append(self.take())
            else:
                found.append(int(self.take()))
                self.take("]")
        return tuple(found)
