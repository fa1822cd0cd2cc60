"""A table where something happens before or after a transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daicho.storage.requests import Write
from daicho.storage.table import Table

Event = Callable[[], object]


class InterruptedTable(Table):
    """A table where something happens before or after some transactions.

    ``before`` and ``after``: what happens at the next transactions, one event for each. An event
    may raise an error: before a transaction, which is not sent then, or instead of its answer.
    """

    def __init__(self, client: Any, name: str) -> None:
        super().__init__(client, name)
        self.before: list[Event] = []
        self.after: list[Event] = []
        self.transactions = 0

    def transact(self, writes: Sequence[Write]) -> None:
        """Send a transaction between its events."""
        self.transactions += 1
        if self.before:
            self.before.pop(0)()
        super().transact(writes)
        if self.after:
            self.after.pop(0)()


def fail(error: BaseException) -> Event:
    """An event that raises an error."""

    def raise_error() -> None:
        raise error

    return raise_error
