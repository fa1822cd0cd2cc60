"""Writes items with unique values, each in a transaction with its reservations.

Such an item is refused if another item has its value. So the order of rows matters: of two rows
with one value, the first one is loaded. Rows that do not share a key or a value are written in
parallel. A row that is refused is tried once more after the others of its block, because one of
these may have given up the value.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from daicho.errors import NotUnique, Raced, TransactionFailedError, UnavailableError
from daicho.layout.reservation_writer import ReservationWriter
from daicho.layout.reservations import build_reservations
from daicho.plan import EntityPlan, Ledger
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget, retry
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey, get_key
from daicho.storage.table import Table
from daicho.write import conditions
from daicho_cli.load.batch_writer import RETRY_S
from daicho_cli.load.row_preparer import RejectedError


@dataclass
class UniqueWriter:
    """Writes blocks of items that have unique values, with several writers at once.

    ``find_refusal``: why an item may not replace the stored one, if it may not. ``refused``: of the
    last block, the items that were not written, by their position in it.
    """

    table: Table
    ledger: Ledger
    plan: EntityPlan
    writers: int
    pace: RateLimiter
    now: Callable[[], dt.datetime]
    find_refusal: Callable[[Image, Image | None], RejectedError | None]
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
        for position in sorted(self.refused):
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
        write = conditions.if_absent() if existing is None else conditions.if_unchanged(existing)
        reserving = ReservationWriter.build(self.ledger, self.table, [(existing, image)], now)
        try:
            if reserving is None:
                self.table.transact([write.to_put(image)])
            else:
                reserving.send([write.to_put(image)], self.table.transact)
        except (Raced, TransactionFailedError) as error:
            raise UnavailableError(f"{key} was changed meanwhile") from error
