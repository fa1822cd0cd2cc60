"""One change of an API's contract, and how the project can keep what clients use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
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


def make_breaking(rule: str, subject: str, text: str, way: str) -> Difference:
    """A difference after which clients may fail, with the way to avoid it."""
    return Difference(Severity.BREAKING, rule, subject, text, way)


def make_compatible(rule: str, subject: str, text: str) -> Difference:
    """A difference that no client needs to know."""
    return Difference(Severity.COMPATIBLE, rule, subject, text)


def join_names(names: Iterable[str], *, most: int = 5) -> str:
    """Names in one line: the first ``most`` of them, then how many there are besides."""
    listed = list(names)
    if len(listed) <= most:
        return ", ".join(listed)
    return f"{', '.join(listed[:most])} and {len(listed) - most} more"
