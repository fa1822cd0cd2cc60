"""Invocations of a mapping's function, and their outcomes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, eq=False)
class Invocation:
    """One call of the function.

    ``positions``: of its records in the shard, from 0. ``closes_window``: it ends a tumbling window
    and has no records.
    """

    id: str
    shard: str
    payload: str
    positions: tuple[int, ...]
    closes_window: bool

    @property
    def event(self) -> dict[str, Any]:
        """The event of the function, parsed from JSON each time."""
        event: dict[str, Any] = json.loads(self.payload)
        return event


@dataclass(frozen=True)
class FunctionReturned:
    """The function ended. ``response``: its result, as JSON represents it."""

    response: Any = None


@dataclass(frozen=True)
class FunctionFailed:
    """The function failed, or (throttled, unavailable) was never invoked."""

    reason: Literal["exception", "timeout", "exit", "throttled", "unavailable"] = "exception"

    @property
    def was_invoked(self) -> bool:
        """Whether the function got the batch: only then does the attempt count."""
        return self.reason not in ("throttled", "unavailable")
