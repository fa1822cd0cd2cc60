"""One change of an API's contract, and how the project can keep what clients use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from daicho_cli.severity import Severity


@dataclass(frozen=True)
class Difference:
    """One difference between two documents, wherever it occurs.

    ``subject``: the parameter or field (``Album.genre``). ``way``: how to keep the old contract,
    as an instruction; empty if nothing breaks.
    """

    severity: Severity
    rule: str
    subject: str
    text: str
    way: str = ""


@dataclass(frozen=True)
class ContractChange:
    """A difference, and the operations that have it.

    Attributes:
        operations: ``GET /users``, in the order of the document.
        rule: what kind of change it is, as a constant word (``renamed-parameter``).
        subject: the parameter or the field: ``query parameter name``, ``User.email``; or the
            operation itself.
        text: what changes.
        way: how to keep the old contract; empty if nothing breaks.
    """

    severity: Severity
    operations: tuple[str, ...]
    rule: str
    subject: str
    text: str
    way: str = ""

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
            "rule": self.rule,
            "subject": self.subject,
            "text": self.text,
            "way": self.way,
        }


def join_names(names: Iterable[str], *, most: int = 5) -> str:
    """Names in one line: the first ``most`` of them, then how many there are besides."""
    listed = list(names)
    if len(listed) <= most:
        return ", ".join(listed)
    return f"{', '.join(listed[:most])} and {len(listed) - most} more"
