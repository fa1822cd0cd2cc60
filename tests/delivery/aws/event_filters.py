"""Lambda's event filters: which records of a stream a mapping hands to its function.

Patterns are EventBridge's, less what DynamoDB event sources do not take. Sources: "Using event
filtering with a DynamoDB event source" and "Control which events Lambda sends to your function",
AWS Lambda Developer Guide.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

MOST_FILTERS = 10
"""Five without a raised quota."""
OPERATORS = frozenset({"anything-but", "equals-ignore-case", "exists", "prefix", "suffix"})


class FilterError(ValueError):
    """A filter that Lambda refuses when the mapping is made."""


class EventFilters:
    """The filters of one mapping. A record that satisfies any of them passes; no filter, all do."""

    def __init__(self, patterns: Sequence[str]) -> None:
        if len(patterns) > MOST_FILTERS:
            raise FilterError(f"{len(patterns)} filters; Lambda takes {MOST_FILTERS}")
        self._patterns = [_read(text) for text in patterns]

    def pass_on(self, record: Any) -> bool:
        """Whether the function gets this record."""
        return not self._patterns or any(_matches(each, record) for each in self._patterns)


def _read(text: str) -> dict[str, Any]:
    try:
        pattern = json.loads(text, object_pairs_hook=_merged)
    except json.JSONDecodeError as error:
        raise FilterError(f"no JSON: {text!r}") from error
    if not isinstance(pattern, dict):
        raise FilterError(f"no object: {text!r}")
    _check(pattern)
    return pattern


def _merged(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A key that comes twice means both, as the guide's example of a Boolean AND has it."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        both = isinstance(value, dict) and isinstance(found.get(key), dict)
        found[key] = {**found[key], **value} if both else value
    return found


def _check(pattern: Any) -> None:
    """Refuse what Lambda refuses, wherever in the pattern it stands."""
    if isinstance(pattern, list):
        for rule in pattern:
            if isinstance(rule, dict):
                _check_rule(rule)
    elif isinstance(pattern, dict):
        for key, below in pattern.items():
            if not isinstance(below, dict | list):
                raise FilterError(f"{key}: rules stand in a list")
            _check(below)


def _check_rule(rule: dict[str, Any]) -> None:
    if "numeric" in rule:
        raise FilterError("DynamoDB event sources take no numeric operator")
    if not OPERATORS.issuperset(rule) and any(not isinstance(x, dict) for x in rule.values()):
        raise FilterError(f"no such operator: {', '.join(rule)}")


def _matches(pattern: dict[str, Any], value: Any) -> bool:
    return all(_key_matches(key, below, value) for key, below in pattern.items())


def _key_matches(key: str, below: Any, value: Any) -> bool:
    if key == "$or":
        return any(_matches(each, value) for each in below)
    found = [each[key] for each in _each(value) if isinstance(each, dict) and key in each]
    if isinstance(below, dict):
        # Where the attribute is absent, only `exists: false` further down can still hold.
        return any(_matches(below, each) for each in found or [None])
    leaves = [leaf for each in found for leaf in _each(each) if not isinstance(leaf, dict)]
    return any(_rule_matches(rule, leaves) for rule in below)


def _each(value: Any) -> Iterator[Any]:
    """A list in an event stands for its elements: one that matches is enough."""
    if isinstance(value, list):
        for element in value:
            yield from _each(element)
    else:
        yield value


def _rule_matches(rule: Any, leaves: list[Any]) -> bool:
    if not isinstance(rule, dict):
        return any(_alike(rule, leaf) for leaf in leaves)
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
            besides = operand if isinstance(operand, list) else [operand]
            return any(not _rule_matches_any(besides, leaf) for leaf in leaves)
    raise FilterError(f"no such operator: {operator}")


def _rule_matches_any(rules: list[Any], leaf: Any) -> bool:
    return any(_rule_matches(rule, [leaf]) for rule in rules)


def _alike(rule: Any, leaf: Any) -> bool:
    """Exact, character by character; numbers as they are written, true is not 1."""
    return type(rule) is type(leaf) and bool(rule == leaf)
