"""Staging: writes an item's pieces before readers see them, and removes unused pieces.

A mark is written first and removed last (`daicho.layout.cleanup_marks`). If a process ends in
between, the sweep removes the rest.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

from daicho.declare.entity import Entity
from daicho.declare.queries import ItemRef
from daicho.errors import ExceedsBounds, Invalid, Raced, StoreError
from daicho.layout import cleanup_marks, sections
from daicho.layout.sections import Manifest
from daicho.query.key_resolver import build_not_found
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.storage.attributes import Image, get_key
from daicho.storage.capacity import WRITE_UNIT_BYTES
from daicho.storage.requests import Put, Query
from daicho.storage.table import MAX_BATCH_WRITES
from daicho.write.item_writer import ItemWriter

T = TypeVar("T")
RACE_RETRY_S = 6.0
"""How long a write is retried while other writers are faster."""
MAX_PAUSE_S = 0.1
STAGE_RETRY_S = 18.0
"""How long sections are written: 5 MB take 5,000 units, and a partition 1,000 a second."""

MARK_UNITS = 4
"""Write units of the removal of a mark, which is in an index."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SectionStaging:
    """Writes the pieces of a tenant's items.

    ``parallelism``: requests made at the same time; 1 means in order, in the calling thread.
    """

    writer: ItemWriter
    parallelism: int = 8

    def retry_race(self, attempt: Callable[[], T]) -> T:
        """Retry while others are faster; in an open transaction, its opener retries instead."""
        if self.writer.open_transaction is not None:
            return attempt()
        for _ in RetryBudget.for_seconds(RACE_RETRY_S, longest=MAX_PAUSE_S).count_attempts():
            try:
                return attempt()
            except Raced as error:
                last_error = error
        raise last_error

    def render_partition(self, ref: ItemRef[Any]) -> str:
        """The partition key of an item's pieces.

        Raises:
            NotFound: an item that the key depends on does not exist.
            Invalid: the item's key leaves no room.
        """
        key = self.writer.key_resolver.resolve_key(ref)
        if key is None:
            raise build_not_found(ref)
        try:
            return sections.render_sections_partition(key, ref.entity.__name__)
        except keys.KeyTooLongError as error:
            raise Invalid(str(error), field=self.list_key_fields(ref.entity)[-1]) from error

    def list_key_fields(self, entity: type[Entity]) -> tuple[str, ...]:
        """The fields of an entity's primary key."""
        return self.writer.planner.get_entity_plan(entity).key.fields

    def check_document(self, partition: str, manifest: Manifest, field: str) -> None:
        """Refuse a document that one request could not write or read whole: `ExceedsBounds`."""
        stored = sections.measure_stored(manifest.count, manifest.weight, partition)
        self.writer.table.budget.check_document(manifest.count, stored, field)

    def write_pieces(self, partition: str, name: str, items: Iterable[Image]) -> None:
        """Write pieces that no reader uses yet, after a mark of this name.

        Raises:
            UnprocessedError: DynamoDB did not accept all of them in time.
        """
        self.writer.table.put(
            cleanup_marks.build_mark(
                partition, name, self.writer.clock() + cleanup_marks.IN_FLIGHT_GRACE
            )
        )
        retry_budget = RetryBudget.for_seconds(STAGE_RETRY_S)
        self._run_in_parallel(
            items, lambda batch: self.writer.table.batch_write(batch, retry_budget=retry_budget)
        )

    def build_due_mark(self, partition: str, name: str) -> Put:
        """The write of a mark that lets the sweep remove unused pieces from now on."""
        return Put(cleanup_marks.build_mark(partition, name, self.writer.clock()))

    def remove_pieces(self, partition: str, name: str, old: Manifest | None) -> None:
        """Remove the pieces of a previous head, and their mark, or leave both to the sweep."""
        prefix = None if old is None else keys.render_prefix(old.epoch)
        stored = 0 if old is None else sections.measure_stored(old.count, old.weight, partition)
        units = stored / WRITE_UNIT_BYTES + (old.count if old else 0) + MARK_UNITS
        self.remove_piece(partition, name, prefix, units)

    def remove_piece(
        self, partition: str, name: str, prefix: str | None, units: float = 0.0
    ) -> None:
        """The same of one section; ``units``: what it writes at most.

        What exceeds the budget of the request is left to the sweep, as what fails is.
        """
        if self.writer.open_transaction is not None:
            return  # readers use the pieces until the transaction is committed
        try:
            self.writer.table.budget.check_write(units)
            if prefix is not None:
                self._remove(partition, prefix)
            self.writer.table.delete(cleanup_marks.build_mark_key(partition, name))
        except (StoreError, ExceedsBounds) as error:
            logger.warning("left to the sweep: %s %s: %s", partition, name, error)

    def _remove(self, partition: str, prefix: str) -> None:
        query = Query(partition, prefix=prefix, attributes=("PK", "SK"), consistent=True)
        unused = [
            get_key(item) for page in self.writer.table.query_pages(query) for item in page.items
        ]
        self._run_in_parallel(unused, lambda batch: self.writer.table.batch_write(deletes=batch))

    def _run_in_parallel(self, values: Iterable[T], work: Callable[[Sequence[T]], None]) -> None:
        blocks = list(_split_into_blocks(values, MAX_BATCH_WRITES))
        if len(blocks) < 2 or self.parallelism == 1:
            for block in blocks:
                work(block)
            return
        with ThreadPoolExecutor(min(self.parallelism, len(blocks))) as pool:
            list(pool.map(work, blocks))


def _split_into_blocks(values: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(values)
    while block := list(islice(rest, size)):
        yield block
