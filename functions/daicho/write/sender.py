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
from itertools import islice
from typing import TypeVar

from daicho.errors import ContendedError, Raced, UnansweredError
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.item_cache import ItemCache
from daicho.storage.requests import Delete, Put, Update, Write, get_write_key
from daicho.storage.table import Table

CONTENTION_RETRY_S = 1.0
"""How long a write is retried, from its first refusal because transactions of others use its
items."""
T = TypeVar("T")


@dataclass
class Sender:
    """Sends a request's writes. ``attempted``: how many may have been executed.

    ``derived_units``: an estimate of the write units of what derives from them.
    """

    table: Table
    item_cache: ItemCache
    attempted: int = 0
    derived_units: int = 0

    def send_one(self, key: ItemKey, write: Put | Update | Delete) -> Image | None:
        """Send one write of the item at this key, as a request without a transaction.

        Returns the updated item, or the one that was removed; None for a put.

        Raises:
            ConditionFailedError: with the item at the key.
            Raced: transactions of others used the item for the whole time.
        """
        return self._execute((key,), lambda: _request(self.table, write))

    def send_all(self, writes: Sequence[Write]) -> None:
        """Do all of these writes or none, as a transaction.

        Raises:
            TransactionFailedError: a condition did not hold.
            Raced: transactions of others used the items for the whole time.
        """
        keys = [get_write_key(write) for write in writes]
        self._execute(keys, lambda: self.table.transact(writes))

    def _execute(self, keys: Sequence[ItemKey], request: Callable[[], T]) -> T:
        """Write, and drop the items from the cache, whatever the result."""
        try:
            try:
                answer = request()
            except ContendedError:
                answer = self._retry(request)
            self.attempted += 1
            return answer
        except UnansweredError:
            self.attempted += 1
            raise
        finally:
            for key in keys:
                self.item_cache.forget(key)

    def _retry(self, request: Callable[[], T]) -> T:
        """Write again, after pauses, while transactions of others use the items."""
        attempts = RetryBudget.for_seconds(CONTENTION_RETRY_S).count_attempts()
        for _ in islice(attempts, 1, None):  # the first attempt was refused already
            with suppress(ContendedError):
                return request()
        raise Raced("others are writing the same at this moment; try again")


def _request(table: Table, write: Put | Update | Delete) -> Image | None:
    condition, names, values = write.condition, write.names, write.values
    match write:
        case Put():
            return table.put(write.item, condition=condition, names=names, values=values)
        case Update():
            return table.update(
                write.key,
                write.update,
                condition=condition,
                names=names,
                values=values,
                returns="ALL_NEW",
            )
        case Delete():
            return table.delete(write.key, condition=condition, names=names, values=values)
