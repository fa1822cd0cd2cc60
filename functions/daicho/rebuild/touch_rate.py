"""The rate of touches: the asked one, or a lower one while DynamoDB throttles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from daicho.errors import ThrottledError
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget


@dataclass(frozen=True)
class TouchRate:
    """Writes touches at a limited rate. ``retry_budget``: the time of the step."""

    limiter: RateLimiter
    retry_budget: RetryBudget

    def write(self, units: float, send: Callable[[], bool]) -> bool:
        """Send a touch of so many write units; whether it changed an item.

        One that is throttled lowers the rate and is sent again, alone.

        Raises:
            ThrottledError: it was throttled until the time was over.
        """
        failure: ThrottledError | None = None
        for _ in self.retry_budget.count_attempts():
            self.limiter.wait(units)
            try:
                return send()
            except ThrottledError as error:
                self.limiter.slow_down()
                failure = error
        raise failure or ThrottledError("no time was left for it")
