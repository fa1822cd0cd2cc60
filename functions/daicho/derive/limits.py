"""How many items and groups one base item may derive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daicho.layout.components import UnderivableError
from daicho.plan import EntityPlan

MAX_ROWS = 400
"""Derived items that one base item may have."""
MAX_GROUPS = 99
"""Groups that one base item may count in: their slots and a claim are one transaction, so that a
record of it that was set aside can be counted at once (EXACTNESS rules 2, 15)."""


def check_count(plan: EntityPlan, derived: Mapping[Any, object], most: int = MAX_ROWS) -> None:
    """Refuse an image that derives more than ``most`` items or groups.

    Raises:
        UnderivableError: there are more.
    """
    if len(derived) > most:
        what = "items" if most == MAX_ROWS else "groups"
        raise UnderivableError(f"{plan.name} derives too many {what}; at most {most}")
