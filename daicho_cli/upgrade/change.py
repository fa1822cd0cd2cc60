"""One difference between two versions of a project, and how severe it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from daicho_cli.severity import Severity


class Area(StrEnum):
    """The part of a project that changes, in the order of a report."""

    RESOURCES = "resources"
    GENERATIONS = "generations"
    API = "api"


@dataclass(frozen=True)
class Change:
    """One change.

    ``rule``: what kind of change it is, as a constant word for tests and exceptions
    (``removed-parameter``). ``subject``: what changes (``query parameter name of GET /users``).
    ``sentence``: the change for a reader, with what it means.
    """

    area: Area
    severity: Severity
    rule: str
    subject: str
    sentence: str

    def to_json(self) -> dict[str, str]:
        """The change as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Change:
        """Read what `to_json` wrote."""
        return cls(
            Area(data["area"]),
            Severity(data["severity"]),
            data["rule"],
            data["subject"],
            data["sentence"],
        )


def find_worst(changes: Iterable[Change]) -> Severity | None:
    """The highest severity of some changes; None without changes."""
    order = list(Severity)
    return min((change.severity for change in changes), key=order.index, default=None)


def sort_changes(changes: Iterable[Change]) -> list[Change]:
    """By area, then the worst first; otherwise in the given order."""
    areas, severities = list(Area), list(Severity)
    return sorted(changes, key=lambda c: (areas.index(c.area), severities.index(c.severity)))
