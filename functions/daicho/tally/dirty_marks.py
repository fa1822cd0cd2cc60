"""The dirty tallies of a run, found through their marks in GSI2.

A run reads all marks before it begins to work, so that it knows every tenant that waits. It reads
at most `MAX_MARKS`: the oldest, and where those are not all, as many of the newest. So a mark of
today is found although millions of older ones wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from daicho.storage.attributes import Image
from daicho.storage.protocols import QueriesItems
from daicho.storage.requests import ItemPage, Query
from daicho.tally import counter_items, slots
from daicho.tally.fair_queue import DirtyTally

MARKS_PER_PAGE = 1_000
"""A mark has about 200 bytes, so a page is one of 200 KB."""
MAX_MARKS = 40_000
"""More than a run can work through: 48 threads do some hundred tallies a second."""


@dataclass
class DirtyTallies:
    """What a run has found. ``oldest_mark``: when it was set.

    ``is_complete``: all marks were read.
    """

    tallies: dict[str, DirtyTally] = field(default_factory=dict)
    oldest_mark: str | None = None
    is_complete: bool = True

    def add(self, mark: Image) -> None:
        """Include a mark."""
        partition, marked_at = mark["PK"]["S"], mark["GSI2SK"]["S"]
        whole = counter_items.read_whole_number(partition)
        tally = self.tallies.setdefault(whole, DirtyTally(partition))
        if counter_items.is_counter_partition(partition) and partition != whole:
            tally.marked_slots.add(counter_items.parse_slot_number(partition))
        self.oldest_mark = min(marked_at, self.oldest_mark or marked_at)


def find_dirty_tallies(
    table: QueriesItems, partition_count: int, is_ignored: Callable[[str], bool]
) -> DirtyTallies:
    """The tallies with marks in so many partitions of the index, without those to be ignored.

    ``is_ignored`` is called with the partition key of a tally. The tallies are in the order in
    which their marks were read: about that of their age.
    """
    dirty, partitions_left = DirtyTallies(), list(range(partition_count))
    for is_forward in (True, False):
        partitions_left = _read_marks(table, partitions_left, dirty, is_ignored, is_forward)
    dirty.is_complete = not partitions_left
    return dirty


def _read_marks(
    table: QueriesItems,
    partitions: Iterable[int],
    dirty: DirtyTallies,
    is_ignored: Callable[[str], bool],
    is_forward: bool,
) -> list[int]:
    """Read half of the most marks, a page of each partition in turn; the partitions with more."""
    waiting = deque((number, _query_marks(table, number, is_forward)) for number in partitions)
    read_count = 0
    while waiting and read_count < MAX_MARKS // 2:
        number, pages = waiting.popleft()
        page = next(pages, None)
        if page is None:
            continue
        read_count += len(page.items)
        for mark in page.items:
            if not is_ignored(mark["PK"]["S"]):
                dirty.add(mark)
        if page.last is not None:
            waiting.append((number, pages))
    return [number for number, _ in waiting]


def _query_marks(table: QueriesItems, number: int, is_forward: bool) -> Iterator[ItemPage]:
    partition = slots.render_dirty_partition(number)
    query = Query(partition, index="GSI2", limit=MARKS_PER_PAGE, forward=is_forward)
    return iter(table.query_pages(query))
