"""Lambda's event filters: which records of a stream a mapping hands to its function.

Patterns are EventBridge's, less what DynamoDB event sources do not take. Sources: "Using event
filtering with a DynamoDB event source" and "Control which events Lambda sends to your function",
AWS Lambda Developer Guide.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

Test = Callable[[Any], bool]
MAX_FILTERS = 10
"""Five without a raised quota."""
OPERATORS = frozenset({"anything-but", "equals-ignore-case", "exists", "prefix", "suffix"})


class RefusedFilterError(ValueError):
    """A filter that Lambda refuses when the mapping is created."""


class EventFilters:
    """The filters of one mapping: it selects a record that matches any of them.

    Without filters it selects every record.

    Raises:
        RefusedFilterError: Lambda would refuse a filter.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        if len(patterns) > MAX_FILTERS:
            raise RefusedFilterError(f"{len(patterns)} filters; Lambda takes {MAX_FILTERS}")
        self._tests = [_compile_text(text) for text in patterns]

    def matches(self, record: Any) -> bool:
        """Whether the function gets this record."""
        return not self._tests or any(is_met(record) for is_met in self._tests)


@lru_cache
def _compile_text(text: str) -> Test:
    return _compile_pattern(_parse_pattern(text))


def _parse_pattern(text: str) -> dict[str, Any]:
    try:
        pattern = json.loads(text, object_pairs_hook=_merge_keys)
    except json.JSONDecodeError as error:
        raise RefusedFilterError(f"no JSON: {text!r}") from error
    if not isinstance(pattern, dict):
        raise RefusedFilterError(f"no object: {text!r}")
    _check_pattern(pattern)
    return pattern


def _merge_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A key that occurs twice means both, as in the guide's example of a Boolean AND."""
    merged: dict[str, Any] = {}
    for key, value in pairs:
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = {**merged[key], **value} if both else value
    return merged


def _check_pattern(pattern: Any) -> None:
    """Refuse what Lambda refuses, at any depth of the pattern."""
    if isinstance(pattern, list):
        for rule in pattern:
            if isinstance(rule, dict):
                _check_rule(rule)
    elif isinstance(pattern, dict):
        for key, below in pattern.items():
            if not isinstance(below, dict | list):
                raise RefusedFilterError(f"{key}: rules must be in a list")
            _check_pattern(below)


def _check_rule(rule: dict[str, Any]) -> None:
    if "numeric" in rule:
        raise RefusedFilterError("DynamoDB event sources take no numeric operator")
    if not OPERATORS.issuperset(rule) and any(not isinstance(x, dict) for x in rule.values()):
        raise RefusedFilterError(f"no such operator: {', '.join(rule)}")


def _compile_pattern(pattern: dict[str, Any]) -> Test:
    """A pattern as a function of a value; it is compiled once and evaluated on every record."""
    tests = [_compile_key(key, below) for key, below in pattern.items()]
    if len(tests) == 1:
        return tests[0]
    return lambda value: all(is_met(value) for is_met in tests)


def _compile_key(key: str, below: Any) -> Test:
    if key == "$or":
        tests = [_compile_pattern(alternative) for alternative in below]
        return lambda value: any(is_met(value) for is_met in tests)
    if not isinstance(below, dict):
        return _compile_leaf(key, below)
    is_below_met = _compile_pattern(below)

    def is_met(value: Any) -> bool:
        # If the attribute is absent, only `exists: false` at a lower level can match.
        if isinstance(value, dict):
            return is_below_met(value.get(key))
        members = _list_members(key, value) or [None]
        return is_below_met(members[0]) if len(members) == 1 else any(map(is_below_met, members))

    return is_met


def _compile_leaf(key: str, rules: list[Any]) -> Test:
    texts = frozenset(rule for rule in rules if isinstance(rule, str))
    has_texts_only = len(texts) == len(rules)

    def is_met(value: Any) -> bool:
        member = value.get(key) if isinstance(value, dict) else None
        if has_texts_only and (value is None or isinstance(member, str)):
            return member in texts  # most records need no more
        return _is_leaf_met(rules, _list_members(key, value))

    return is_met


def _is_leaf_met(rules: list[Any], members: list[Any]) -> bool:
    leaves = [
        leaf for member in members for leaf in _list_elements(member) if not isinstance(leaf, dict)
    ]
    return any(_is_rule_met(rule, leaves) for rule in rules)


def _list_members(key: str, value: Any) -> list[Any]:
    """What a key holds in an object, or in the objects of a list."""
    if isinstance(value, dict):
        return [value[key]] if key in value else []
    return [
        element[key]
        for element in _list_elements(value)
        if isinstance(element, dict) and key in element
    ]


def _list_elements(value: Any) -> Iterator[Any]:
    """The elements of a list in an event: one that matches is enough."""
    if isinstance(value, list):
        for element in value:
            yield from _list_elements(element)
    else:
        yield value


def _is_rule_met(rule: Any, leaves: list[Any]) -> bool:
    if not isinstance(rule, dict):
        return any(_is_exact_match(rule, leaf) for leaf in leaves)
    ((operator, operand),) = rule.items()
    texts = [leaf for leaf in leaves if isinstance(leaf, str)]
    match operator:
        case "exists":
            return bool(leaves) is operand
        case "prefix":
            return any(text.startswith(operand) for text in texts)
        case "suffix":
            return any(text.endswith(operand) for text in texts)
        case "equals-ignore-case":
            return any(text.lower() == operand.lower() for text in texts)
        case "anything-but":
            excluded = operand if isinstance(operand, list) else [operand]
            return any(not _is_any_rule_met(excluded, leaf) for leaf in leaves)
    raise RefusedFilterError(f"no such operator: {operator}")


def _is_any_rule_met(rules: list[Any], leaf: Any) -> bool:
    return any(_is_rule_met(rule, [leaf]) for rule in rules)


def _is_exact_match(rule: Any, leaf: Any) -> bool:
    """Whether a value is exactly the rule's: numbers as they are written, true is not 1."""
    return type(rule) is type(leaf) and bool(rule == leaf)
