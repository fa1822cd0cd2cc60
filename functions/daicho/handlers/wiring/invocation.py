"""Lambda's invocation: its context, and the time that is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from daicho.handlers.wiring.dependencies import Dependencies
from daicho.runtime.retry import RetryBudget


class Context(Protocol):
    """The part of Lambda's context that the handlers need."""

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until the invocation is ended."""


Handler = Callable[[Mapping[str, Any], Context], dict[str, Any]]


def make_retry_budget(context: Context, dependencies: Dependencies) -> RetryBudget:
    """The invocation's time, less the reserve for its end."""
    return RetryBudget.for_invocation(
        context.get_remaining_time_in_millis, sleep=dependencies.sleep, random=dependencies.random
    )
