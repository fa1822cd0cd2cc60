"""DynamoDB's expressions: parsed once, cached by their text.

The grammar is DynamoDB's own (conditions, updates, projections, document paths), so that an
expression of the code under test is accepted or refused as by DynamoDB, never in part.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from daicho.testing.aws.attribute_values import InvalidRequestError
from daicho.testing.aws.dynamodb.reserved_words import load_reserved_words

TOKEN = re.compile(
    r"[ \t\r\n]*(?:([#:]?[A-Za-z][A-Za-z0-9_]*|[#:][A-Za-z0-9_]+)"
    r"|([0-9]+)|(<>|<=|>=|[=<>(),.\[\]+-]))"
)
WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
CONDITION_FUNCTIONS = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
}
"""The number of operands of each function."""
PATH_FUNCTIONS = ("attribute_exists", "attribute_not_exists", "attribute_type")
"""Those whose first operand must be a document path."""
MAX_EXPRESSION_BYTES = 4096
MAX_IN_OPERANDS = 100
MAX_OPERATORS = 300
"""Operators and functions of an expression. AWS does not document whether the actions of an update
are among them; here they are, so that an update that is accepted here is accepted by DynamoDB."""
OPERATORS = frozenset({*COMPARISONS, "+", "-", "AND", "OR", "NOT", "BETWEEN", "IN"})

Step = str | int
Path = tuple[Step, ...]
Node = tuple[Any, ...]
OperandCheck = tuple[str, Any, Any]
"""What `operand_checks` checks when it has the placeholders of a request: the kind of check, the
first operand, and the second one or the types that the first can have."""


@dataclass(frozen=True, eq=False, slots=True)
class ParsedExpression:
    """An expression, and what it uses.

    ``names`` and ``values`` are its placeholders, ``paths`` all its document paths, and ``targets``
    those that an update changes. ``checks`` are the operands that depend on a request.
    """

    tree: Any
    names: frozenset[str]
    values: frozenset[str]
    paths: tuple[Path, ...]
    targets: tuple[Path, ...]
    checks: tuple[OperandCheck, ...]


@lru_cache(maxsize=4096)
def parse_condition(text: str) -> ParsedExpression:
    """Parse a condition, a filter or a key condition."""
    return _parse_whole(text, _ExpressionReader.read_condition)


@lru_cache(maxsize=4096)
def parse_update(text: str) -> ParsedExpression:
    """Parse an update: its actions in order."""
    return _parse_whole(text, _ExpressionReader.read_clauses)


@lru_cache(maxsize=4096)
def parse_projection(text: str) -> ParsedExpression:
    """Parse a projection: its paths."""
    return _parse_whole(text, _ExpressionReader.read_paths)


def _parse_whole(text: str, read: Callable[[_ExpressionReader], Any]) -> ParsedExpression:
    if not text.strip(" \t\r\n"):
        raise InvalidRequestError("the expression is empty")
    if len(text.encode()) > MAX_EXPRESSION_BYTES:
        raise InvalidRequestError(f"the expression has over {MAX_EXPRESSION_BYTES} bytes")
    reader = _ExpressionReader(text)
    tree = read(reader)
    if reader.next is not None:
        raise InvalidRequestError(f"syntax error near {reader.next}: {text}")
    words = [token for token in reader.tokens if token is not None]
    count = reader.action_count + sum(word.upper() in OPERATORS for word in words)
    if count > MAX_OPERATORS:
        raise InvalidRequestError(f"the expression has {count} operators, over {MAX_OPERATORS}")
    return ParsedExpression(
        tree,
        frozenset(word for word in words if word.startswith("#")),
        frozenset(word for word in words if word.startswith(":")),
        tuple(reader.paths),
        tuple(reader.targets),
        tuple(reader.checks),
    )


class _ExpressionReader:
    """Recursive descent over an expression's tokens."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[str | None] = []
        self.paths: list[Path] = []
        self.targets: list[Path] = []
        self.checks: list[OperandCheck] = []
        self.action_count = 0
        """Functions, and actions of an update without an operator of their own."""
        self._place = end = 0
        while end < len(text.rstrip(" \t\r\n")):
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

    # --- Conditions --------------------------------------------------------------------------

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
        if self.next == "(":
            return self._read_group()
        if self._is_at_call() and self.next != "size":
            return self._read_call()
        left = self._read_operand()
        if self.skip("BETWEEN"):
            low, _, high = self._read_operand(), self.take("AND"), self._read_operand()
            if low[0] == high[0] == "value":
                self.checks.append(("order", low[1], high[1]))
            return ("between", "", [left, low, high])
        if self.skip("IN"):
            self.take("(")
            operands = self._read_list(self._read_operand)
            if len(operands) > MAX_IN_OPERANDS:
                raise InvalidRequestError(f"IN has over {MAX_IN_OPERANDS} operands: {self.text}")
            return ("in", "", [left, *operands])
        comparison, right = self.take(*COMPARISONS), self._read_operand()
        self._require_distinct(left, right)
        return ("compared", comparison, [left, right])

    def _read_group(self) -> Node:
        """A condition in parentheses; DynamoDB refuses a second pair around it."""
        begin = self._place
        self.take("(")
        inner = self.read_condition()
        self.take(")")
        if self.tokens[begin + 1] == "(" and self._find_end(begin + 1) == self._place - 2:
            raise InvalidRequestError(f"redundant parentheses: {self.text}")
        return inner

    def _find_end(self, begin: int) -> int:
        """The place of the parenthesis that closes the one at ``begin``."""
        depth = 0
        for place in range(begin, len(self.tokens)):
            depth += {"(": 1, ")": -1}.get(self.tokens[place] or "", 0)
            if not depth:
                return place
        raise AssertionError(self.text)

    def _read_call(self) -> Node:
        name = self.take()
        self.action_count += 1
        if name not in CONDITION_FUNCTIONS:
            raise InvalidRequestError(f"no function is called {name}: {self.text}")
        self.take("(")
        operands = self._read_list(self._read_operand)
        if len(operands) != CONDITION_FUNCTIONS[name]:
            raise InvalidRequestError(f"{name} has {len(operands)} operands: {self.text}")
        if name in PATH_FUNCTIONS and operands[0][0] != "path":
            raise InvalidRequestError(f"{name} requires a document path: {self.text}")
        if name == "attribute_type":
            if operands[1][0] != "value":
                raise InvalidRequestError(f"attribute_type requires a value: {self.text}")
            self.checks.append(("type name", operands[1][1], None))
        if name == "begins_with":
            self._check_kinds(("S", "B"), *operands)
        if len(operands) == 2:
            self._require_distinct(*operands)
        return ("call", name, operands)

    def _require_distinct(self, first: Node, second: Node) -> None:
        if first[0] == second[0] == "path" and len(first[1]) == len(second[1]):
            self.checks.append(("distinct", first[1], second[1]))

    def _check_kinds(self, kinds: tuple[str, ...], *operands: Node) -> None:
        """Require that the operands that are values have one of some types."""
        for operand in operands:
            if operand[0] == "value":
                self.checks.append(("kinds", operand[1], kinds))

    def _read_operand(self) -> Node:
        if self._is_at_call():
            self.action_count += 1
            if self.take() != "size":
                raise InvalidRequestError(f"only size can be an operand: {self.text}")
            self.take("(")
            path = self.read_path()
            self.take(")")
            return ("size", path)
        return self._read_value_or_path()

    def _read_value_or_path(self) -> Node:
        if self.next is not None and self.next.startswith(":"):
            return ("value", self.take())
        return ("path", self.read_path())

    def _is_at_call(self) -> bool:
        return (
            self.next is not None
            and self.tokens[self._place + 1] == "("
            and WORD.fullmatch(self.next) is not None
        )

    def _read_list(self, read: Callable[[], Node]) -> list[Node]:
        nodes = [read()]
        while self.skip(","):
            nodes.append(read())
        self.take(")")
        return nodes

    # --- Updates -----------------------------------------------------------------------------

    def read_clauses(self) -> list[Node]:
        nodes: list[Node] = []
        verbs: set[str] = set()
        while self.next is not None:
            verb = self.take("SET", "REMOVE", "ADD", "DELETE").upper()
            if verb in verbs:
                raise InvalidRequestError(f"{verb} can only be used once: {self.text}")
            verbs.add(verb)
            nodes.append(self._read_action(verb))
            while self.skip(","):
                nodes.append(self._read_action(verb))
        return nodes

    def _read_action(self, verb: str) -> Node:
        path = self.read_path()
        self.targets.append(path)
        self.action_count += verb != "SET"  # whose "=" is an operator
        if verb == "REMOVE":
            return (verb, path, None)
        if verb == "SET":
            self.take("=")
            return (verb, path, self._read_sum())
        value = self._read_value_or_path()
        if value[0] != "value":
            raise InvalidRequestError(f"{verb} requires a value: {self.text}")
        self._check_kinds(("N", "SS", "NS", "BS") if verb == "ADD" else ("SS", "NS", "BS"), value)
        return (verb, path, value)

    def _read_sum(self) -> Node:
        left = self._read_set_operand()
        if self.next not in ("+", "-"):
            return left
        sign, right = self.take(), self._read_set_operand()
        self._check_kinds(("N",), left, right)
        return ("sum", sign, left, right)

    def _read_set_operand(self) -> Node:
        if self.skip("("):
            value = self._read_sum()
            self.take(")")
            return value
        if not self._is_at_call():
            return self._read_value_or_path()
        name = self.take()
        self.action_count += 1
        if name not in ("if_not_exists", "list_append"):
            raise InvalidRequestError(f"no function of an update is called {name}: {self.text}")
        self.take("(")
        operands = self._read_list(self._read_set_operand)
        if len(operands) != 2:
            raise InvalidRequestError(f"{name} has {len(operands)} operands: {self.text}")
        if name == "list_append":
            self._check_kinds(("L",), *operands)
        elif operands[0][0] != "path":
            raise InvalidRequestError(f"if_not_exists requires a document path: {self.text}")
        else:
            operands[0] = operands[0][1]
        return (name, *operands)

    # --- Paths -------------------------------------------------------------------------------

    def read_paths(self) -> list[Path]:
        self.targets.append(self.read_path())
        while self.skip(","):
            self.targets.append(self.read_path())
        return self.targets

    def read_path(self) -> Path:
        steps: list[Step] = [self._read_name()]
        while self.next in (".", "["):
            if self.take() == ".":
                steps.append(self._read_name())
            else:
                steps.append(self._read_index())
                self.take("]")
        path = tuple(steps)
        self.paths.append(path)
        return path

    def _read_name(self) -> str:
        name = self.take()
        if name.startswith("#"):
            return name
        if WORD.fullmatch(name) is None:
            raise InvalidRequestError(f"{name} is no attribute name: {self.text}")
        if name.upper() in load_reserved_words():
            raise InvalidRequestError(f"{name} is a reserved word: {self.text}")
        return name

    def _read_index(self) -> int:
        index = self.take()
        if not index.isdigit():
            raise InvalidRequestError(f"{index} is no index: {self.text}")
        return int(index)
