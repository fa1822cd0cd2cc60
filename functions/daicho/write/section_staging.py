"""Staging: what is written beside an item before it is seen, and removed when it no longer is.

A mark goes first and is taken away last (`daicho.layout.cleanup_marks`): whoever dies in between
leaves the rest to the sweep.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from daicho.declare.entity import Entity
from daicho.declare.queries import One
from daicho.errors import Invalid, NotFound, Raced, StoreError
from daicho.layout import cleanup_marks, sections
from daicho.plan import model
from daicho.query.key_resolver import described
from daicho.runtime.retry import Patience
from daicho.storage import keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import key_of
from daicho.storage.requests import Put, Query
from daicho.storage.table import WRITE_AT_ONCE, Table
from daicho.write.item_writer import Writer

T = TypeVar("T")
RACE_SECONDS = 6.0
"""How long a write is tried that others get ahead of."""
PAUSE = 0.1
STAGE_SECONDS = 18.0
"""How long sections are written: 5 MB take 5,000 units, and a partition 1,000 a second."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Staging:
    """Writes what stands beside a tenant's items. ``at_once``: requests made in parallel."""

    table: Table
    writer: Writer
    clock: Callable[[], dt.datetime]
    at_once: int = 8

    def again(self, attempt: Callable[[], T]) -> T:
        """Try until nobody is faster; within a transaction whoever opened it tries."""
        if self.writer.open is not None:
            return attempt()
        for _ in Patience.seconds(RACE_SECONDS, longest=PAUSE).attempts():
            try:
                return attempt()
            except Raced as error:
                raced = error
        raise raced

    def partition(self, one: One[Any]) -> str:
        """Where what stands beside an item does.

        Raises:
            NotFound: what the item's place depends on does not exist.
            Invalid: its key leaves no room.
        """
        key = self.writer.places.key(one)
        if key is None:
            raise NotFound(f"no {described(one)}")
        try:
            return sections.partition_of(key, one.entity.__name__)
        except keys.KeyTooLongError as error:
            raise Invalid(str(error), field=self.key_fields(one.entity)[-1]) from error

    def key_fields(self, entity: type[Entity]) -> tuple[str, ...]:
        """The fields of an entity's primary key."""
        return model.key_fields(self.writer.current(entity).plan)

    def write(self, partition: str, name: str, items: Iterable[Image]) -> None:
        """Write where nobody looks yet, behind a mark of this name.

        Raises:
            UnprocessedError: DynamoDB did not take all of it in time.
        """
        self.table.put(cleanup_marks.mark(partition, name, self.clock() + cleanup_marks.BUSY))
        patience = Patience.seconds(STAGE_SECONDS)
        self._in_parallel(items, lambda some: self.table.batch_write(some, patience=patience))

    def due(self, partition: str, name: str) -> Put:
        """The write by which, from now on, what is left over may go."""
        return Put(cleanup_marks.mark(partition, name, self.clock()))

    def clean(self, partition: str, name: str, prefix: str | None) -> None:
        """Remove what nobody sees any more, and its mark: or leave both to the sweep."""
        if self.writer.open is not None:
            return  # it is still seen, until the transaction is committed
        try:
            if prefix is not None:
                self._remove(partition, prefix)
            self.table.delete(cleanup_marks.key_of_mark(partition, name))
        except StoreError as error:
            logger.warning("left to the sweep: %s %s: %s", partition, name, error)

    def _remove(self, partition: str, prefix: str) -> None:
        query = Query(partition, prefix=prefix, attributes=("PK", "SK"), consistent=True)
        gone = [key_of(item) for page in self.table.pages(query) for item in page.items]
        self._in_parallel(gone, lambda some: self.table.batch_write(deletes=some))

    def _in_parallel(self, all_of: Iterable[T], work: Callable[[Sequence[T]], None]) -> None:
        blocks = list(_blocks(all_of, WRITE_AT_ONCE))
        if len(blocks) < 2:
            for each in blocks:
                work(each)
            return
        with ThreadPoolExecutor(min(self.at_once, len(blocks))) as pool:
            list(pool.map(work, blocks))


def _blocks(all_of: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(all_of)
    while block := list(islice(rest, size)):
        yield block
