"""How severe a change of a project is, for those who use the project."""

from __future__ import annotations

from enum import StrEnum


class Severity(StrEnum):
    """What a change does to a running project, the worst first."""

    BREAKING = "breaking"
    """Clients fail, or answers are incomplete. Somebody must accept it."""
    NOTICE = "notice"
    """Works on, but differently."""
    COMPATIBLE = "compatible"
    """Nobody who uses the project has to know it."""
