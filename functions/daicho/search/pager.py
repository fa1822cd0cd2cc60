"""Reads one page of a search or a listing from posting lists, with a limited number of reads.

A *candidate* is a row of the lists, and is *decided* when it is shown or dropped. Index rows lag
behind the items. So the item of a candidate is fetched, and it is shown only if it matches now and
still has the same place in the order. When the budget of reads is spent, the page is short or
empty, and has the bound at which the next page starts. No item is skipped, and the bound of every
page is after that of the previous one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Generic, Protocol, TypeVar

from daicho.runtime.frozen_dataclasses import dataclass
from daicho.search.posting_lists import (
    END,
    MAX_BLOCK_ROWS,
    Block,
    Bound,
    PendingRead,
    PostingCursor,
    PostingList,
    PostingRow,
)

UNITS, REQUESTS, SECONDS = 300.0, 50, 1.5
"""The budget of a page: read units, without those of the items that it shows; requests; time."""

UNITS_PER_ROW = 0.02
"""The estimate for an index row, of 150 bytes, until enough rows of this page have been read."""

UNITS_PER_READ = 0.5
"""The smallest cost of a read."""

UNITS_PER_DROPPED_ROW = 1.5
"""The item of a dropped row is read twice, the second time consistently."""

MIN_UNITS = 2.5
"""The cost of one read of a list, rounded up, and of one check."""

MIN_MEASURED_ROWS = 20
"""Above this number of rows read, their average units replace `UNITS_PER_ROW`."""

Key = TypeVar("Key")
"""What identifies the item of a row."""

Item = TypeVar("Item")


class OnlyUnprocessedError(Exception):
    """DynamoDB did not process the read of the first candidate, so the page would be empty."""

    def __init__(self, unprocessed: Iterable[Any]) -> None:
        super().__init__("the store did not process the first candidate of the page")
        self.unprocessed = tuple(unprocessed)


@dataclass(frozen=True)
class FetchedItems(Generic[Key, Item]):
    """Items by their rows' keys, the unprocessed keys, and the number of requests."""

    items: Mapping[Key, Item]
    unprocessed: frozenset[Key] = frozenset()
    requests: int = 1


class PostingReader(Protocol[Key, Item]):
    """The reads and checks that a page needs."""

    def read_blocks(self, requests: Sequence[PendingRead]) -> Sequence[Block]:
        """A block of each of these lists, newest first."""

    def fetch(self, keys: Sequence[Key], *, consistent: bool) -> FetchedItems[Key, Item]:
        """The items of these rows."""

    def matches(self, item: Item, order: str) -> bool:
        """Whether an item matches now, and has this order."""

    def estimate_units(self, item: Item | None, *, consistent: bool) -> float:
        """The units of a read of an item, or of a read that finds no item."""


@dataclass
class ReadBudget:
    """The units, requests and rows that a page has used so far.

    ``most``: the units that it may use. ``index_units`` are those of ``units`` that the index rows
    cost. ``deadline``: by ``clock``.
    """

    clock: Callable[[], float] = time.monotonic
    most: float = UNITS
    units: float = 0.0
    requests: int = 0
    rows: int = 0
    index_units: float = 0.0
    deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self.deadline = self.clock() + SECONDS

    def remaining(self, pending: int) -> float:
        """The units that remain if all pending candidates are dropped."""
        return self.most - self.units - pending * UNITS_PER_DROPPED_ROW

    def is_spent(self, pending: int = 0) -> bool:
        """Whether the budget allows no more reads, with this number of pending candidates."""
        is_over = self.requests >= REQUESTS or self.clock() >= self.deadline
        return is_over or self.remaining(pending) < MIN_UNITS

    def choose_block_size(self, pending: int) -> int:
        """The number of index rows to read next, with one more candidate to check; at least one."""
        is_measured = self.rows > MIN_MEASURED_ROWS
        row_units = self.index_units / self.rows if is_measured else UNITS_PER_ROW
        remaining_units = self.remaining(pending + 1) - UNITS_PER_READ
        row_count = int(remaining_units / max(row_units, UNITS_PER_ROW / 10))
        return max(1, min(MAX_BLOCK_ROWS, row_count))

    def charge(self, blocks: Iterable[Block]) -> None:
        """Count blocks that were read."""
        for block in blocks:
            self.units += block.units
            self.index_units += block.units
            self.rows += len(block.rows)
            self.requests += 1


@dataclass(frozen=True)
class SearchPage(Generic[Item]):
    """The items of a page, and the bound at which the next page starts; `END` after the last."""

    items: list[Item]
    bound: Bound


@dataclass
class SearchPager(Generic[Key, Item]):
    """Reads one page from a cursor.

    ``add_item`` receives each item that is shown. If it returns False, the page has no room for the
    item and ends before it.
    """

    reader: PostingReader[Key, Item]
    cursor: PostingCursor
    limit: int
    add_item: Callable[[Item], bool] = lambda _item: True
    budget: ReadBudget = field(default_factory=ReadBudget)
    _start: Bound | None = None
    _shown: list[Item] = field(default_factory=list)
    _decided: int = 0

    def read_page(self) -> SearchPage[Item]:
        """Read until the page is full, the budget is spent, or the end is reached.

        Raises:
            OnlyUnprocessedError: the store did not process the first candidate.
        """
        while True:
            candidates, has_more = self._collect_candidates()
            stop = self._show_matching(candidates, is_exact=self.cursor.is_exact())
            if stop is not None:
                return SearchPage(self._shown, stop)
            bound, is_full = self.cursor.bound(), len(self._shown) == self.limit
            if is_full or not has_more or self.budget.is_spent():
                return SearchPage(self._shown, bound)

    def _collect_candidates(self) -> tuple[list[PostingRow], bool]:
        """The next candidates, as many as the page lacks, and whether the cursor continues."""
        candidates: list[PostingRow] = []
        cursor, budget = self.cursor, self.budget
        if self._start is None:
            self._start = cursor.bound()
        missing = self.limit - len(self._shown)
        while len(candidates) < missing:
            row = cursor.candidate()
            if row is not None:
                if candidates and budget.remaining(len(candidates) + 1) < 0:
                    break
                candidates.append(row)
                cursor.skip_to(Bound(row.order, inclusive=False))
                continue
            if cursor.bound() == END:
                return candidates, False
            if cursor.bound() < self._start and budget.is_spent(len(candidates)):
                break
            lists = list(cursor.pending_reads())
            if lists:  # none if an intersection has just dropped a dense list: look again
                rows = budget.choose_block_size(len(candidates))
                self._read_blocks(lists, max(1, rows // len(lists)), missing - len(candidates))
        return candidates, True

    def _read_blocks(self, lists: Sequence[PostingList], max_rows: int, missing: int) -> None:
        """Read at most ``max_rows`` of each list, for a page that lacks ``missing`` candidates."""
        requests = [posting_list.request_block(max_rows, missing) for posting_list in lists]
        blocks = self.reader.read_blocks(requests)
        self.budget.charge(blocks)
        for posting_list, request, block in zip(lists, requests, blocks, strict=True):
            posting_list.accept_block(request, block)

    def _show_matching(self, candidates: Sequence[PostingRow], *, is_exact: bool) -> Bound | None:
        """Show the candidates that match; returns the bound at which the page must stop, if any."""
        matching, unprocessed = self._select_matching(candidates, is_exact)
        for row in candidates:
            row_bound = Bound(row.order, inclusive=True)
            if row.order in matching:
                item = matching[row.order]
                if not self.add_item(item):
                    return row_bound
                self._shown.append(item)
            elif row.key in unprocessed:
                if not self._decided:
                    raise OnlyUnprocessedError(unprocessed)
                return row_bound
            self._decided += 1
        return None

    def _select_matching(
        self, candidates: Sequence[PostingRow], is_exact: bool
    ) -> tuple[dict[str, Item], frozenset[Key]]:
        """Items that match at the order of a row, by that order, and the unprocessed keys.

        If a candidate's item is missing or does not match, it is read once more, consistently,
        before the candidate is dropped: the first read may be older than the index row. If the
        lists are not exact, many candidates will be dropped, so the first read is consistent.

        An item that has just moved may have two rows among the candidates. All its rows are decided
        by the same image, the newest: otherwise the page would show the item twice.
        """
        rows, matching = list(candidates), dict[str, Item]()
        unprocessed: frozenset[Key] = frozenset()
        for consistent in (False, True) if is_exact else (True,):
            if not rows:
                break
            keys = list(dict.fromkeys(row.key for row in rows))
            fetched = self.reader.fetch(keys, consistent=consistent)
            self.budget.requests += fetched.requests
            unprocessed = fetched.unprocessed
            failing: set[Key] = set()
            for row in rows:
                item = fetched.items.get(row.key)
                if item is not None and self.reader.matches(item, row.order):
                    matching[row.order] = item
                    continue
                failing.add(row.key)
                matching.pop(row.order, None)
                if row.key not in unprocessed:
                    self.budget.units += self.reader.estimate_units(item, consistent=consistent)
            rows = [row for row in candidates if row.key in failing]
        return matching, unprocessed
