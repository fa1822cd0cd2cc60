"""Sends writes, and retries them while transactions of others block them.

Writes that succeed or fail together are a transaction, even a single write. If an answer was lost,
the SDK repeats the transaction under one token, so it is never executed twice. The SDK repeats a
separate request without a token. If that repeat is refused, the caller cannot tell whether another
writer or its own first attempt was the cause.

DynamoDB refuses a write while a transaction uses its item. Nothing was written then, and the other
transaction is complete within some milliseconds.
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
"""How long a write is retried while transactions of others use its items."""
T = TypeVar("T")


@dataclass
class Sender:
    """Sends a request's writes. ``attempted``: how many may have been executed."""

    table: Table
    memory: ItemCache
    attempted: int = 0

    def execute(self, *keys: ItemKey, request: Callable[[], T]) -> T:
        """Write, and retry while transactions of others use the items.

        A write drops its items from the cache, whatever its result.

        Raises:
            Raced: transactions of others used the items for the whole time.
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
            Raced: transactions of others used the items for the whole time.
        """
        keys = [get_write_key(write) for write in writes]
        self.execute(*keys, request=lambda: self.table.transact(writes))
