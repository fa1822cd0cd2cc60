"""Sending writes, and what gets in their way.

What stands or falls together is a transaction, one write too: the SDK repeats it under one token
where an answer was lost, so it is never done twice. A request of its own it just repeats, and who
is refused then cannot tell whether by another or by itself.

DynamoDB turns a write away while a transaction is at its item. Nothing was done then, and in some
milliseconds the other is through.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from daicho.errors import ContendedError, Raced, UnansweredError
from daicho.runtime.retry import RetryBudget
from daicho.storage.item_cache import ItemCache
from daicho.storage.item_key import ItemKey
from daicho.storage.requests import Write, get_write_key
from daicho.storage.table import Table

CONTENTION_RETRY_S = 1.0
"""How long a write is tried while transactions of others are at its items."""
T = TypeVar("T")


@dataclass
class Sender:
    """Sends a request's writes. ``sent``: how many may have been done."""

    table: Table
    memory: ItemCache
    attempted: int = 0

    def execute(self, *keys: ItemKey, request: Callable[[], T]) -> T:
        """Write, again and again while transactions of others are at the items.

        What is remembered of an item ends with a write, whatever becomes of it.

        Raises:
            Raced: they were all the time.
        """
        try:
            for _ in RetryBudget.for_seconds(CONTENTION_RETRY_S).count_attempts():
                with suppress(ContendedError):
                    answer = request()
                    self.attempted += 1
                    return answer
        except UnansweredError:
            self.attempted += 1
            raise
        finally:
            for key in keys:
                self.memory.forget(key)
        raise Raced("others are writing the same at this moment; try again")

    def send(self, writes: Sequence[Write]) -> None:
        """Do all of these writes or none.

        Raises:
            TransactionFailedError: a condition did not hold.
            Raced: transactions of others were at the items all the time.
        """
        keys = [get_write_key(each) for each in writes]
        self.execute(*keys, request=lambda: self.table.transact(writes))
