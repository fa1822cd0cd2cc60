"""Readings: which API call shows which properties of a CloudFormation resource.

The tables of this package are made of them, one file for each service. Both sides of a setting are
JMESPath expressions, so that a table has no code: the left one reads the resource's properties in
the template, the right one the answer of the API call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import jmespath
from jmespath import functions

from daicho_cli.smoke.settings.template import is_same

Comparison = Literal["equal", "at least"]


@dataclass(frozen=True)
class Setting:
    """One setting: its name, where the template has it, and where the answer has it.

    ``wanted`` may be a literal (``` `ACTIVE` ```): what is right for every stack. A setting whose
    wanted value is null is not compared: the template leaves it to the service. ``at least``:
    for what a service raises by itself. ``is_existence``: if it is wrong, the resource does not
    exist, and its other settings are not reported.
    """

    name: str
    wanted: str
    found: str
    comparison: Comparison = "equal"
    is_existence: bool = False

    def read_wanted(self, resource: Mapping[str, Any]) -> Any:
        """The value that the template wants; None if it wants none."""
        return evaluate(self.wanted, resource)

    def read_found(self, answer: Mapping[str, Any]) -> Any:
        """The value in an answer of the API."""
        return evaluate(self.found, answer)

    def is_right(self, wanted: Any, found: Any) -> bool:
        """Whether the value is the wanted one, as far as the template says it."""
        if self.comparison == "at least":
            return isinstance(found, int | float) and bool(found >= wanted)
        return is_same(wanted, found)


@dataclass(frozen=True)
class Reading:
    """One API call for each resource of a type.

    ``arguments``: JMESPath expressions over the resource: its ``id`` (the physical one) and its
    ``properties``. ``absent``: error codes that mean that nothing is set; the answer is then empty.
    """

    service: str
    operation: str
    arguments: Mapping[str, str]
    settings: tuple[Setting, ...]
    absent: tuple[str, ...] = field(default=())


def same(name: str, path: str, within: str = "") -> Setting:
    """A setting that template and API call the same; ``within``: what it is part of in the API."""
    return Setting(name, f"properties.{path}", f"{within}.{path}" if within else path)


class _Functions(functions.Functions):  # type: ignore[misc]  # JMESPath has no type stubs
    """What the tables need besides the functions of JMESPath."""

    @functions.signature({"types": ["string", "null"]})  # type: ignore[untyped-decorator]
    def _func_parse_json(self, text: str | None) -> Any:
        """The value of a JSON document: two documents may differ in spaces only."""
        return None if text is None else json.loads(text)

    @functions.signature({"types": ["object", "string", "null"]})  # type: ignore[untyped-decorator]
    def _func_statements(self, policy: Any) -> Any:
        """The statements of a policy in one form and order."""
        document = json.loads(policy) if isinstance(policy, str) else policy
        if not document:
            return None
        statements = document["Statement"]
        plain = [_flatten(each) for each in _list(statements)]
        return sorted(plain, key=lambda each: json.dumps(each, sort_keys=True))

    @functions.signature({"types": ["string"]}, {"types": ["string"]})  # type: ignore[untyped-decorator]
    def _func_after_last(self, text: str, separator: str) -> str:
        """The end of a text after the last separator."""
        return text.rpartition(separator)[2]

    @functions.signature({"types": ["string", "null"]})  # type: ignore[untyped-decorator]
    def _func_log_group(self, arn: str | None) -> Any:
        """The ARN of a log group without ``:*``, which not every service keeps."""
        return None if arn is None else arn.removesuffix(":*")

    @functions.signature({"types": ["array", "null"]})  # type: ignore[untyped-decorator]
    def _func_sorted(self, values: list[Any] | None) -> Any:
        """A list whose order has no meaning, in one order; None if it is empty."""
        return sorted(values, key=lambda each: json.dumps(each, sort_keys=True)) if values else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _flatten(value: Any) -> Any:
    """A statement without its name, with lists for single values and text for numbers.

    Services return a policy in another form than that in which they received it.
    """
    if isinstance(value, dict):
        if value.get("Principal") == "*":
            value = {**value, "Principal": {"AWS": "*"}}
        return {key: _flatten(value[key]) for key in sorted(value) if key != "Sid"}
    return sorted(
        str(each).lower() if isinstance(each, bool) else str(each) for each in _list(value)
    )


_OPTIONS = jmespath.Options(custom_functions=_Functions())


def evaluate(expression: str, value: Any) -> Any:
    """The value of a JMESPath expression, with the functions above."""
    return jmespath.compile(expression).search(value, options=_OPTIONS)
