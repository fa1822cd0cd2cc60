"""Writes blocks of items: interleaved over partition keys, in batches, at a limited rate.

If rows were written in the order of their partition keys, one partition of DynamoDB would receive
all writes at a time, and the others none. Source: "Distributing write activity efficiently during
data upload", Amazon DynamoDB Developer Guide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice, zip_longest

from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget, retry
from daicho.storage.attributes import Image
from daicho.storage.item_key import get_key
from daicho.storage.table import MAX_BATCH_WRITES, Table

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
        self.write_batch(batch)
        return len(batch)

    def write_batch(self, batch: list[Image]) -> None:
        """Write the items of a batch over whatever exists at their keys."""
        # Each attempt of this loop checks again whether the command may write.
        retry(lambda: self.table.batch_write(batch), RetryBudget.for_seconds(RETRY_S))


def split_into_batches(items: Iterable[Image]) -> Iterator[list[Image]]:
    """Batches of at most the size that BatchWriteItem accepts."""
    remainder = iter(items)
    while batch := list(islice(remainder, MAX_BATCH_WRITES)):
        yield batch
