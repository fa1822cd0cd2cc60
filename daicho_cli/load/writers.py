"""Writes blocks of items: interleaved over partition keys, in batches, at a limited rate.

If rows were written in the order of their partition keys, one partition of DynamoDB would receive
all writes at a time, and the others none. Source: "Distributing write activity efficiently during
data upload", Amazon DynamoDB Developer Guide.

An item with unique values is refused if another item has its value. One with states is refused if
its state may not follow the stored one. So the order of rows matters: of two rows with one value,
the first one is loaded. Rows that do not share a key or a value are written in parallel. A row
whose value is taken is tried once more after the others of its block: one of these may have given
up the value.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice, zip_longest

from daicho.errors import (
    ConditionFailedError,
    NotUnique,
    Raced,
    TransactionFailedError,
    UnavailableError,
)
from daicho.layout.reservation_writer import ReservationWriter
from daicho.layout.reservations import build_reservations
from daicho.plan import EntityPlan, Ledger
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget, retry
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.table import MAX_BATCH_WRITES, Table
from daicho.write.conditions import if_absent, if_unchanged
from daicho_cli.load.rows import RejectedError

RETRY_S = 60.0
"""The longest time for which a batch is retried, in seconds."""
_NOTHING: Image = {}


def interleave_by_partition(items: Iterable[Image]) -> list[Image]:
    """The first item of every partition, then the second of every one, and so on.

    An item that occurs twice is written once, with its last values.
    """
    collections: dict[str, dict[str, Image]] = {}
    for item in items:
        key = get_key(item)
        collections.setdefault(key.pk, {})[key.sk] = item
    rounds = zip_longest(
        *(partition.values() for partition in collections.values()), fillvalue=_NOTHING
    )
    return [item for items in rounds for item in items if item is not _NOTHING]


@dataclass
class BatchWriter:
    """Writes blocks of items with several writers at once."""

    table: Table
    writers: int
    pace: RateLimiter
    refused: dict[int, NotUnique | RejectedError] = field(default_factory=dict)
    """None: a batch replaces whatever exists at its keys."""

    def write(self, items: Iterable[Image]) -> Iterator[int]:
        """Write a block; yield the size of each batch after the batch is written.

        Raises:
            daicho.errors.StoreError: DynamoDB refused, or left items unprocessed for a minute.
        """
        with ThreadPoolExecutor(self.writers) as pool:
            try:
                yield from pool.map(self._write, split_into_batches(interleave_by_partition(items)))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def _write(self, batch: list[Image]) -> int:
        self.pace.wait(len(batch))
        # Each attempt of this loop checks again whether the command may write.
        retry(lambda: self.table.batch_write(batch), RetryBudget.for_seconds(RETRY_S))
        return len(batch)


def split_into_batches(items: Iterable[Image]) -> Iterator[list[Image]]:
    """Batches of at most the size that BatchWriteItem accepts."""
    remainder = iter(items)
    while batch := list(islice(remainder, MAX_BATCH_WRITES)):
        yield batch


@dataclass
class CheckedWriter:
    """Writes items one by one that have unique values or states, with several writers at once.

    ``find_refusal``: why an item may not replace the stored one, if it may not. ``states``: the
    fields that it compares. ``refused``: of the last block, the items that were not written, by
    their position in it.
    """

    table: Table
    ledger: Ledger
    plan: EntityPlan
    writers: int
    pace: RateLimiter
    now: Callable[[], dt.datetime]
    find_refusal: Callable[[Image, Image | None], RejectedError | None]
    states: tuple[str, ...] = ()
    refused: dict[int, NotUnique | RejectedError] = field(default_factory=dict)

    def write(self, items: Sequence[Image]) -> Iterator[int]:
        """Write a block; yield 1 after each item that was written.

        Raises:
            daicho.errors.StoreError: DynamoDB refused, or left items unwritten for a minute.
        """
        self.refused = {}
        with ThreadPoolExecutor(self.writers) as pool:
            try:
                for positions in self._split_into_rounds(items):
                    yield from pool.map(lambda position: self._write(position, items), positions)
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        taken = [p for p, error in self.refused.items() if isinstance(error, NotUnique)]
        for position in sorted(taken):
            del self.refused[position]
            yield self._write(position, items)

    def _split_into_rounds(self, items: Sequence[Image]) -> Iterator[list[int]]:
        """Positions of items that have no key and no value in common; later rounds follow."""
        rounds: dict[ItemKey, int] = {}
        positions: list[list[int]] = []
        for position, item in enumerate(items):
            used = [get_key(item), *build_reservations(self.plan, item)]
            turn = max((rounds.get(key, -1) for key in used), default=-1) + 1
            rounds |= dict.fromkeys(used, turn)
            if turn == len(positions):
                positions.append([])
            positions[turn].append(position)
        yield from positions

    def _write(self, position: int, items: Sequence[Image]) -> int:
        """Write one item; the number of items that were written."""
        self.pace.wait(1)
        try:
            retry(lambda: self._replace(items[position]), RetryBudget.for_seconds(RETRY_S))
        except (NotUnique, RejectedError) as error:
            self.refused[position] = error
            return 0
        return 1

    def _replace(self, image: Image) -> None:
        """Put an item over the one that is there.

        Raises:
            NotUnique: another item has one of its values.
            RejectedError: it may not replace the stored item.
            UnavailableError: others wrote the item at the same time.
        """
        key, now = get_key(image), int(self.now().timestamp())
        existing = self.table.get(key, consistent=True)
        refusal = self.find_refusal(image, existing)
        if refusal is not None:
            raise refusal
        condition = if_absent() if existing is None else if_unchanged(existing, *self.states)
        put = condition.to_put(image)
        reserving = ReservationWriter.build(self.ledger, self.table, [(existing, image)], now)
        try:
            if reserving.list_keys():
                reserving.send([put], self.table.transact)
            else:
                self.table.put(image, condition=put.condition, names=put.names, values=put.values)
        except (ConditionFailedError, Raced, TransactionFailedError) as error:
            raise UnavailableError(f"{key} was changed meanwhile") from error
