"""The time of an invocation, which passes only while it sleeps."""

from __future__ import annotations

from daicho.runtime.retry import RetryBudget


class Time:
    """An invocation of 300 s, of which only sleeping takes any."""

    def __init__(self) -> None:
        self.left = 300.0

    def sleep(self, seconds: float) -> None:
        self.left -= seconds

    @property
    def retry_budget(self) -> RetryBudget:
        return RetryBudget(lambda: self.left, reserve=20, sleep=self.sleep)
