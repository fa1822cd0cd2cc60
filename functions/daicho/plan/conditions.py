"""The condition of a declaration: which items it concerns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daicho.runtime.frozen_dataclasses import dataclass


@dataclass(frozen=True)
class Condition:
    """True of an image whose ``field`` has one of the values (text by `keys.render_scalar`)."""

    field: str
    one_of: tuple[str, ...]


def parse_condition(data: Mapping[str, Any] | None) -> Condition | None:
    """Read a condition from plain JSON values; None if a declaration has none."""
    return Condition(data["field"], tuple(data["one_of"])) if data else None
