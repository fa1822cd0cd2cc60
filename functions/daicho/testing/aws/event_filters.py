"""Lambda's event filters: which records of a stream a mapping hands to its function.

It simulates the filters that the stack has: texts that an attribute may have. Source: "Using event
filtering with a DynamoDB event source", AWS Lambda Developer Guide.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

Test = Callable[[Any], bool]
MAX_FILTERS = 10
"""Five without a raised quota."""


class EventFilters:
    """The filters of one mapping: it selects a record that matches any of them.

    Without filters it selects every record.

    Raises:
        ValueError: there are too many filters for Lambda, or one is no JSON.
        NotImplementedError: a filter has an operator, which is not simulated.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        if len(patterns) > MAX_FILTERS:
            raise ValueError(f"{len(patterns)} filters; Lambda takes {MAX_FILTERS}")
        self._tests = [_compile_text(text) for text in patterns]

    def matches(self, record: Any) -> bool:
        """Whether the function gets this record."""
        return not self._tests or any(is_met(record) for is_met in self._tests)


@lru_cache
def _compile_text(text: str) -> Test:
    return _compile_pattern(json.loads(text))


def _compile_pattern(pattern: Any) -> Test:
    """A pattern as a function of a value; it is compiled once and evaluated on every record."""
    if isinstance(pattern, dict):
        tests = [_compile_key(key, below) for key, below in pattern.items()]
        return tests[0] if len(tests) == 1 else lambda value: all(test(value) for test in tests)
    if isinstance(pattern, list) and all(isinstance(text, str) for text in pattern):
        texts = frozenset(pattern)
        return lambda value: isinstance(value, str) and value in texts
    raise NotImplementedError(f"the filter {pattern} is not simulated")


def _compile_key(key: str, below: Any) -> Test:
    is_below_met = _compile_pattern(below)
    return lambda value: isinstance(value, dict) and is_below_met(value.get(key))
