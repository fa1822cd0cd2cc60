"""The plan of a unique value: see `daicho.layout.reservations` for what it stores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from daicho.runtime.frozen_dataclasses import dataclass

Folding = Literal["none", "case", "full"]
"""How texts are compared: as they are, without their case, or in the normal form of searches."""


@dataclass(frozen=True)
class UniquePlan:
    """No two items of one ``within`` have the same values of all ``fields``.

    ``within``: fields whose values are the scope, inside the tenant. ``fold``: of the texts in
    ``fields``.
    """

    name: str
    since: int
    fields: tuple[str, ...]
    within: tuple[str, ...] = ()
    fold: Folding = "none"

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> UniquePlan:
        """Read the plain JSON value of a plan."""
        return cls(
            data["name"], data["since"], tuple(data["fields"]), tuple(data["within"]), data["fold"]
        )
