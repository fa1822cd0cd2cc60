"""The sum of the answers of the function ``redrive``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Answer = dict[str, Any]
"""An answer of the function, or an entry of one of its lists: JSON values."""


@dataclass
class RedriveTotals:
    """The sum of all answers; claims, discarded batches and recounts are the remaining work."""

    applied: int = 0
    already_done: int = 0
    uncertain: int = 0
    claims: list[Answer] = field(default_factory=list)
    discarded: list[Answer] = field(default_factory=list)
    recount: list[Answer] = field(default_factory=list)

    @property
    def is_work_left(self) -> bool:
        """Whether anything waits: for a fix, for a recount, or for another command."""
        return bool(self.claims or self.discarded or self.recount)
