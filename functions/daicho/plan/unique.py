"""The plan of a unique value: see `daicho.layout.reservations` for what it stores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from daicho.plan.text_rules import FIRST_FOLD
from daicho.runtime.frozen_dataclasses import dataclass

Folding = Literal["none", "case", "full"]
"""How texts are compared: as they are, without their case, or in the normal form of searches."""


@dataclass(frozen=True)
class UniquePlan:
    """No two items of one ``within`` have the same values of all ``fields``.

    ``within``: fields whose values are the scope, inside the tenant. ``fold``: of the texts in
    ``fields``. ``fold_version``: of the normal form of searches.
    """

    name: str
    since: int
    fields: tuple[str, ...]
    within: tuple[str, ...] = ()
    fold: Folding = "none"
    fold_version: int = FIRST_FOLD

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> UniquePlan:
        """Read the plain JSON value of a plan."""
        names = {name: tuple(data[name]) for name in ("fields", "within")}
        return cls(**{**data, **names})
