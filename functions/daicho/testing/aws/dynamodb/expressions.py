"""The expressions that the library sends to DynamoDB: parsed once by their text, then evaluated.

It is the part of DynamoDB's grammar that the library uses: attributes by name or placeholder, no
document paths. What is outside it raises NotImplementedError, so that nothing is answered in part.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import ge, gt, le, lt
from typing import Any, TypeVar

from daicho.testing.aws.dynamodb.attribute_values import (
    Image,
    InvalidActionError,
    InvalidRequestError,
    Value,
    add_numbers,
    add_values,
    are_equal,
    begins_with,
    compare,
    contains,
    subtract_set,
)
from daicho.testing.aws.dynamodb.value_checks import check_value

TOKEN = re.compile(r"\s*([#:]?[A-Za-z0-9_]+|<>|<=|>=|[=<>(),+])")
ORDERS: Mapping[str, Callable[[int, int], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
COMPARISONS = ("=", "<>", *ORDERS)
MAX_EXPRESSION_BYTES = 4096
MAX_IN_OPERANDS = 100
MAX_OPERATORS = 300
"""Operators and functions of an expression. AWS does not document whether the actions of an update
are among them; here they are, so that an update that is accepted here is accepted by DynamoDB."""
OPERATORS = frozenset({*COMPARISONS, "+", "AND", "OR", "NOT", "BETWEEN", "IN"})
PARAMETERS = (
    *("KeyConditionExpression", "FilterExpression", "ProjectionExpression"),
    *("ConditionExpression", "UpdateExpression"),
)
"""The parameters of requests that are expressions."""
VERBS = ("SET", "REMOVE", "ADD", "DELETE")
Part = TypeVar("Part")
NO_NAMES: Mapping[str, str] = {}
NO_VALUES: Mapping[str, Value] = {}


@dataclass(slots=True)
class Scope:
    """An item, and the placeholders of a request."""

    item: Image
    names: Mapping[str, str]
    values: Mapping[str, Value]

    def get(self, name: str) -> Value | None:
        """The attribute with a name or a placeholder, or None."""
        return self.item.get(self.names.get(name, name))


Test = Callable[[Scope], bool]
Operand = Callable[[Scope], Value | None]
Action = tuple[str, str, Operand]
"""The verb, the attribute and the operand of an action of an update."""


@dataclass(frozen=True, eq=False, slots=True)
class Expression:
    """An expression, and the placeholders that it uses.

    ``content``: a `Test`, the actions of an update, or the attributes of a projection.
    """

    content: Any
    names: frozenset[str]
    values: frozenset[str]


@dataclass(slots=True)
class RequestExpressions:
    """The expressions of a request, by their parameters, and what its placeholders mean."""

    parsed: Mapping[str, Expression]
    names: Mapping[str, str]
    values: Mapping[str, Value]

    @property
    def actions(self) -> Sequence[Action]:
        """The actions of the update; none if the request has no update."""
        if "UpdateExpression" not in self.parsed:
            return ()
        actions: Sequence[Action] = self.parsed["UpdateExpression"].content
        return actions

    def is_met(self, parameter: str, item: Image) -> bool:
        """Whether a condition is true of an item. A request without the condition is met by all."""
        if parameter not in self.parsed:
            return True
        is_met: Test = self.parsed[parameter].content
        return is_met(Scope(item, self.names, self.values))

    def select(self, item: Image) -> dict[str, Value]:
        """The attributes of an item that the request reads."""
        projection = self.parsed.get("ProjectionExpression")
        if projection is None:
            return dict(item)
        wanted = [self.names.get(name, name) for name in projection.content]
        return {name: item[name] for name in wanted if name in item}

    def apply_update(self, item: Image) -> dict[str, Value]:
        """The item after the update; every action reads the item as it was before.

        Raises:
            InvalidActionError: an operand does not fit the item.
        """
        new, scope = dict(item), Scope(item, self.names, self.values)
        for verb, name, read in self.actions:
            target = self.names.get(name, name)
            value = read(scope)
            if verb == "SET" and value is None:
                raise InvalidActionError(
                    "the expression refers to an attribute that does not exist"
                )
            if verb in ("ADD", "DELETE") and value is not None:
                change = add_values if verb == "ADD" else subtract_set
                value = change(item.get(target), value)
            if value is None:
                new.pop(target, None)
            else:
                new[target] = value
        return new


def parse_expressions(request: Mapping[str, Any]) -> RequestExpressions:
    """Parse all expressions of a request.

    Raises:
        InvalidRequestError: there is a syntax error or a wrong value, or a placeholder is not
            defined or not used. DynamoDB also refuses a request that defines an empty set of them.
    """
    parsed = {
        parameter: _parse_expression(parameter, request[parameter])
        for parameter in PARAMETERS
        if parameter in request
    }
    names = request.get("ExpressionAttributeNames")
    values = request.get("ExpressionAttributeValues")
    used_names, used_values = _collect_placeholders(*parsed.values())
    _compare_placeholders("name", names, used_names)
    _compare_placeholders("value", values, used_values)
    for value in (values or NO_VALUES).values():
        check_value(value)
    return RequestExpressions(parsed, names or NO_NAMES, values or NO_VALUES)


@lru_cache(maxsize=4096)
def _collect_placeholders(*used: Expression) -> tuple[frozenset[str], frozenset[str]]:
    names = frozenset[str]().union(*(parsed.names for parsed in used))
    return names, frozenset[str]().union(*(parsed.values for parsed in used))


def _compare_placeholders(
    kind: str, defined: Mapping[str, object] | None, used: frozenset[str]
) -> None:
    if (defined is None and used) or (defined is not None and (defined.keys() != used or not used)):
        odd = ", ".join(sorted((defined or {}).keys() ^ used))
        raise InvalidRequestError(f"a {kind} is not defined, or not used: {odd}")


@lru_cache(maxsize=4096)
def _parse_expression(parameter: str, text: str) -> Expression:
    if len(text.encode()) > MAX_EXPRESSION_BYTES:
        raise InvalidRequestError(f"the expression has over {MAX_EXPRESSION_BYTES} bytes")
    reader = _ExpressionReader(text)
    content: Any
    if parameter == "UpdateExpression":
        content = reader.read_actions()
    elif parameter == "ProjectionExpression":
        content = reader.read_list(reader.take_name)
    else:
        content = reader.read_condition()
    if reader.next:
        raise InvalidRequestError(f"syntax error near {reader.next}: {text}")
    count = reader.function_count + sum(word.upper() in OPERATORS for word in reader.words)
    if count > MAX_OPERATORS:
        raise InvalidRequestError(f"the expression has {count} operators, over {MAX_OPERATORS}")
    names = frozenset(word for word in reader.words if word.startswith("#"))
    return Expression(content, names, frozenset(w for w in reader.words if w.startswith(":")))


class _ExpressionReader:
    """Recursive descent over an expression's words."""

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        self.words: list[str] = []
        self.function_count = 0
        """Functions, and actions of an update without an operator of their own."""
        self._place = end = 0
        while end < len(self.text):
            token = TOKEN.match(self.text, end)
            if token is None:
                raise NotImplementedError(f"{self.text[end:]!r} is not simulated: {text}")
            self.words.append(token[1])
            end = token.end()

    @property
    def next(self) -> str:
        """The word that follows, in capitals; empty at the end."""
        return self.words[self._place].upper() if self._place < len(self.words) else ""

    def take(self, *wanted: str) -> str:
        """Go past the next word, which is one of those ``wanted``, or any."""
        if not self.next or (wanted and self.next not in wanted):
            raise InvalidRequestError(f"{' or '.join(wanted) or 'more'} is missing: {self.text}")
        self._place += 1
        return self.words[self._place - 1]

    def take_name(self) -> str:
        """Go past the name of an attribute, or its placeholder."""
        name = self.take()
        if not re.match(r"#\w|[A-Za-z0-9]", name):
            raise InvalidRequestError(f"{name} is no attribute name: {self.text}")
        return name

    def skip(self, *wanted: str) -> bool:
        """Go past the next word if it is one of those wanted."""
        is_there = self.next in wanted
        self._place += is_there
        return is_there

    def read_list(self, read: Callable[[], Part]) -> list[Part]:
        """Parts with commas between them."""
        parts = [read()]
        while self.skip(","):
            parts.append(read())
        return parts

    # --- Conditions --------------------------------------------------------------------------

    def read_condition(self) -> Test:
        tests = [self._read_conjunction()]
        while self.skip("OR"):
            tests.append(self._read_conjunction())
        return tests[0] if len(tests) == 1 else lambda scope: any(test(scope) for test in tests)

    def _read_conjunction(self) -> Test:
        tests = [self._read_term()]
        while self.skip("AND"):
            tests.append(self._read_term())
        return tests[0] if len(tests) == 1 else lambda scope: all(test(scope) for test in tests)

    def _read_term(self) -> Test:
        if self.skip("NOT"):
            inner = self._read_term()
            return lambda scope: not inner(scope)
        if self.skip("("):
            condition = self.read_condition()
            self.take(")")
            return condition
        if self.words[self._place + 1 : self._place + 2] == ["("]:
            return self._read_function()
        left = self._read_operand()
        if self.skip("BETWEEN"):
            low, _, high = self._read_operand(), self.take("AND"), self._read_operand()
            is_above = _build_comparison(">=", left, low)
            is_below = _build_comparison("<=", left, high)
            return lambda scope: is_above(scope) and is_below(scope)
        if self.skip("IN"):
            self.take("(")
            operands = self.read_list(self._read_operand)
            self.take(")")
            if len(operands) > MAX_IN_OPERANDS:
                raise InvalidRequestError(f"IN has over {MAX_IN_OPERANDS} operands: {self.text}")
            return lambda scope: any(are_equal(left(scope), other(scope)) for other in operands)
        return _build_comparison(self.take(*COMPARISONS), left, self._read_operand())

    def _read_function(self) -> Test:
        name, operands = self._read_call(self._read_operand)
        match name, operands:
            case "attribute_exists", [one]:
                return lambda scope: one(scope) is not None
            case "attribute_not_exists", [one]:
                return lambda scope: one(scope) is None
            case "begins_with" | "contains", [one, other]:
                is_met = begins_with if name == "begins_with" else contains
                return lambda scope: (
                    (value := one(scope)) is not None
                    and (wanted := other(scope)) is not None
                    and is_met(value, wanted)
                )
        raise NotImplementedError(f"{name} of {len(operands)} is not simulated: {self.text}")

    def _read_call(self, read: Callable[[], Part]) -> tuple[str, list[Part]]:
        name, _ = self.take(), self.take("(")
        self.function_count += 1
        operands = self.read_list(read)
        self.take(")")
        return name, operands

    def _read_operand(self) -> Operand:
        if self.next.startswith(":"):
            placeholder = self.take()
            return lambda scope: scope.values[placeholder]
        name = self.take_name()
        return lambda scope: scope.get(name)

    # --- Updates -----------------------------------------------------------------------------

    def read_actions(self) -> list[Action]:
        actions: list[Action] = []
        verbs: list[str] = []
        while self.next:
            verbs.append(self.take(*VERBS).upper())
            actions += self.read_list(lambda: self._read_action(verbs[-1]))
        if len(set(verbs)) != len(verbs):
            raise InvalidRequestError(f"a verb can only be used once: {self.text}")
        return actions

    def _read_action(self, verb: str) -> Action:
        name = self.take_name()
        self.function_count += verb != "SET"  # whose "=" is an operator
        if verb == "REMOVE":
            return verb, name, lambda _: None
        if verb != "SET":
            return verb, name, self._read_operand()
        self.take("=")
        left = self._read_set_operand()
        if not self.skip("+"):
            return verb, name, left
        right = self._read_set_operand()

        def add(scope: Scope) -> Value | None:
            one, other = left(scope), right(scope)
            return None if one is None or other is None else add_numbers(one, other)

        return verb, name, add

    def _read_set_operand(self) -> Operand:
        if self.next != "IF_NOT_EXISTS":
            return self._read_operand()
        _, (existing, otherwise) = self._read_call(self._read_operand)

        def choose(scope: Scope) -> Value | None:
            value = existing(scope)
            return otherwise(scope) if value is None else value

        return choose


def _build_comparison(sign: str, left: Operand, right: Operand) -> Test:
    if sign == "=":
        return lambda scope: are_equal(left(scope), right(scope))
    if sign == "<>":
        return lambda scope: not are_equal(left(scope), right(scope))
    is_met = ORDERS[sign]
    return lambda scope: (
        (order := compare(left(scope), right(scope))) is not None and is_met(order, 0)
    )
