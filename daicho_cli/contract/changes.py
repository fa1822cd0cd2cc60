"""One change of an API's contract, and how the project can keep what clients use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any


class Severity(StrEnum):
    """What a change does to a running project, the worst first."""

    BREAKING = "breaking"
    """Clients fail, or answers are incomplete. Somebody must accept it."""
    NOTICE = "notice"
    """Works on, but differently."""
    COMPATIBLE = "compatible"
    """Nobody who uses the project has to know it."""


@dataclass(frozen=True)
class Difference:
    """One difference between two documents, wherever it occurs.

    ``rule``: what kind of change it is, as a constant word (``renamed-parameter``). ``subject``:
    the parameter or field (``query parameter name``, ``Album.genre``), or the operation itself.
    ``way``: how to keep the old contract, as an instruction; empty if nothing breaks.
    """

    severity: Severity
    rule: str
    subject: str
    text: str
    way: str = ""


@dataclass(frozen=True, kw_only=True)
class ContractChange(Difference):
    """A difference, and the ``operations`` that have it, in the order of the document."""

    operations: tuple[str, ...]

    @property
    def is_breaking(self) -> bool:
        """Whether clients of the old description may fail."""
        return self.severity is Severity.BREAKING

    @property
    def sentence(self) -> str:
        """The change for a reader, with up to three of its operations."""
        if self.subject in self.operations:
            return self.text
        return f"{self.text} ({join_names(self.operations, most=3)})"

    def to_json(self) -> dict[str, Any]:
        """The change as plain JSON values."""
        return {
            "severity": self.severity.value,
            "breaking": self.is_breaking,
            "operations": list(self.operations),
            **{name: getattr(self, name) for name in ("rule", "subject", "text", "way")},
        }


def make_breaking(rule: str, subject: str, text: str, way: str = "", **values: str) -> Difference:
    """A difference of operations after which clients may fail.

    ``way``: the name of the instruction that avoids it, by default the rule; ``values``: its parts.
    """
    instruction = find_operation_way(way or rule, **values)
    return Difference(Severity.BREAKING, rule, subject, text, instruction)


def make_compatible(rule: str, subject: str, text: str) -> Difference:
    """A difference that no client needs to know."""
    return Difference(Severity.COMPATIBLE, rule, subject, text)


def join_names(names: Iterable[str], *, most: int = 5) -> str:
    """Names in one line: the first ``most`` of them, then how many there are besides."""
    listed = list(names)
    if len(listed) <= most:
        return ", ".join(listed)
    return f"{', '.join(listed[:most])} and {len(listed) - most} more"


class Direction(Enum):
    """Who sends the value."""

    REQUEST = "requests"
    ANSWER = "answers"


_NEW_FIELD = "leave the type as it is, and declare a new field next to the old one"
_DECLARE = "declare {kept}"
_REQUESTS: Mapping[str, str] = {
    "removed-field": "leave the field in place, with a default, until no client sends it",
    "added-required-field": "give the field a default: field(default=...)",
    "newly-required-field": "give the field a default: field(default=...)",
    "narrowed-type": _NEW_FIELD,
    "narrowed-type null": "declare the type with None: `str | None`",
    "changed-values": "declare the type without Literal",
    "removed-value": "leave {kept} in the Literal; a migration may rewrite the stored items",
    "narrowed-bound": _DECLARE,
    "changed-pattern": _DECLARE,
    "changed-format": _NEW_FIELD,
    "changed-multipleOf": _DECLARE,
    "changed-uniqueItems": _DECLARE,
    "refused-fields": "accept other fields",
}
_ANSWERS: Mapping[str, str] = {
    "removed-field": "leave the field in place; a migration may fill it from its successor",
    "newly-optional-field": "give the field a value in every answer, by a default or a migration",
    "widened-type": _NEW_FIELD,
    "widened-type null": "give the field a default instead of None, and stored items a value by a "
    "migration",
    "changed-values": "declare the Literal",
    "added-value": "tell the clients before the first item has the value",
    "changed-pattern": _DECLARE,
    "changed-format": _NEW_FIELD,
    "changed-multipleOf": _DECLARE,
    "changed-uniqueItems": _DECLARE,
}
_OPERATIONS: Mapping[str, str] = {
    "removed-operation": "domain.resource(...) with {method}, or "
    'domain.route("{method}", "{path}")',
    "removed-list": 'domain.mount("{path}", ...), or domain.route("GET", "{path}")',
    "removed-query": "leave its declaration next to the new one, until no client uses it",
    "renamed-search": 'Search(..., param="{kept}")',
    "renamed-flag": "name the listing {kept}",
    "renamed-parameter": "name the field, or the function's argument, {kept}",
    "removed-search": 'Search(..., param="{kept}")',
    "removed-parameter": "leave the declaration, or the function's argument, that takes it",
    "required-parameter": "give the function's argument a default, or leave the declaration "
    "without the parameter next to the new one",
    "changed-encoding": "leave {kept}",
    "removed-body": "leave the body of the function",
    "required-body": "accept a request without a body",
    "removed-media-type": "leave {kept}",
    "removed-answer": "answer {kept} still",
    "removed-header": "leave the header in the answers",
    "changed-role": "declare the route without role={kept}",
    "changed-security": "accept {kept}",
}


def find_way(direction: Direction, rule: str, kept: str = "") -> str:
    """The instruction for a difference of schemas; '' if there is none.

    ``kept``: what must stay, such as ``maxLength 80`` or ``open``.
    """
    ways = _REQUESTS if direction is Direction.REQUEST else _ANSWERS
    return ways.get(rule, "").format(kept=kept)


def find_operation_way(name: str, **values: str) -> str:
    """The instruction for a difference of operations, with its ``values`` filled in."""
    return _OPERATIONS[name].format(**values)
