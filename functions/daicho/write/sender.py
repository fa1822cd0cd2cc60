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
from daicho.runtime.retry import Patience
from daicho.storage.item_cache import Memory
from daicho.storage.item_key import ItemKey
from daicho.storage.requests import Write, key_of_write
from daicho.storage.table import Table

CONTENDED_SECONDS = 1.0
"""How long a write is tried while transactions of others are at its items."""
T = TypeVar("T")


@dataclass
class Sender:
    """Sends a request's writes. ``sent``: how many may have been done."""

    table: Table
    memory: Memory
    sent: int = 0

    def ask(self, *keys: ItemKey, request: Callable[[], T]) -> T:
        """Write, again and again while transactions of others are at the items.

        What is remembered of an item ends with a write, whatever becomes of it.

        Raises:
            Raced: they were all the time.
        """
        try:
            for _ in Patience.seconds(CONTENDED_SECONDS).attempts():
                with suppress(ContendedError):
                    answer = request()
                    self.sent += 1
                    return answer
        except UnansweredError:
            self.sent += 1
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
        keys = [key_of_write(each) for each in writes]
        self.ask(*keys, request=lambda: self.table.transact(writes))
