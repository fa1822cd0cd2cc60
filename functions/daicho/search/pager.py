"""A page of a search: candidates in order, checked against the items themselves, bounded.

Postings lag behind the items. So the item of a posting is fetched, and it is shown only if it
matches now and has that order. A page does bounded work: when its budget is spent, it is short or
empty, and it has the bound at which the next page starts. No item is skipped, and every page makes
progress.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

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
"""The budget of a page: read units beyond the rows that it shows, requests, time."""

UNITS_PER_ROW = 0.02
"""The units of an index row of 150 bytes, until rows of this page were read."""

UNITS_PER_READ = 0.5
"""The smallest cost of a read."""

UNITS_OF_DOUBT = 1.5
"""A row that is dropped is read twice, the second time consistently."""

MIN_UNITS = 2.5
"""The cost of one read of a list, rounded up, and of one check."""

MIN_BLOCK_ROWS = 20
"""Up to this number, rows are no measure for the size of other rows."""

Key = TypeVar("Key")
"""What identifies the item of a row."""

Item = TypeVar("Item")


class OnlyUnprocessedError(Exception):
    """No candidate was decided, because the store did not process the first one."""

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
    """The units, requests and rows that a page has used so far."""

    clock: Callable[[], float] = time.monotonic
    units: float = 0.0
    requests: int = 0
    rows: int = 0
    index_units: float = 0.0
    until: float = field(init=False)

    def __post_init__(self) -> None:
        self.until = self.clock() + SECONDS

    def remaining(self, pending: int) -> float:
        """Units that are left if all pending candidates fail their check."""
        return UNITS - self.units - pending * UNITS_OF_DOUBT

    def is_spent(self, pending: int = 0) -> bool:
        """Whether the budget allows no more reads, with this number of pending candidates."""
        is_over = self.requests >= REQUESTS or self.clock() >= self.until
        return is_over or self.remaining(pending) < MIN_UNITS

    def choose_block_size(self, pending: int) -> int:
        """Rows that the budget still allows, with one more candidate to check; at least one."""
        row_units = self.index_units / self.rows if self.rows > MIN_BLOCK_ROWS else UNITS_PER_ROW
        left = self.remaining(pending + 1) - UNITS_PER_READ
        return max(1, min(MAX_BLOCK_ROWS, int(left / max(row_units, UNITS_PER_ROW / 10))))

    def charge(self, blocks: Iterable[Block]) -> None:
        """Count blocks that were read."""
        for block in blocks:
            self.units += block.units
            self.index_units += block.units
            self.rows += len(block.rows)
            self.requests += 1


@dataclass(frozen=True)
class SearchPage(Generic[Item]):
    """A page: its items, and where the next one starts (`END` at the end)."""

    items: list[Item]
    bound: Bound


@dataclass
class SearchPager(Generic[Key, Item]):
    """Reads one page down a cursor. ``take`` refuses an item when the page is too large."""

    reader: PostingReader[Key, Item]
    cursor: PostingCursor
    limit: int
    take: Callable[[Item], bool] = lambda _item: True
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
        most = self.limit - len(self._shown)
        while len(candidates) < most:
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
            if lists:  # otherwise a part was left out: the next candidate may be decided now
                rows = budget.choose_block_size(len(candidates))
                self._read_blocks(lists, max(1, rows // len(lists)), most - len(candidates))
        return candidates, True

    def _read_blocks(self, lists: Sequence[PostingList], most: int, missing: int) -> None:
        requests = [posting_list.request_block(most, missing) for posting_list in lists]
        blocks = self.reader.read_blocks(requests)
        self.budget.charge(blocks)
        for posting_list, request, block in zip(lists, requests, blocks, strict=True):
            posting_list.accept_block(request, block)

    def _show_matching(self, candidates: Sequence[PostingRow], *, is_exact: bool) -> Bound | None:
        """Show the candidates that match; returns the bound at which the page must stop, if any."""
        matching, unprocessed = self._select_matching(candidates, is_exact)
        for row in candidates:
            here = Bound(row.order, inclusive=True)
            if row.key in unprocessed:
                if not self._decided:
                    raise OnlyUnprocessedError(unprocessed)
                return here
            if row.key in matching:
                if not self.take(matching[row.key]):
                    return here
                self._shown.append(matching[row.key])
            self._decided += 1
        return None

    def _select_matching(
        self, candidates: Sequence[PostingRow], is_exact: bool
    ) -> tuple[dict[Key, Item], frozenset[Key]]:
        """Items that match at the order of their rows, and the unprocessed keys.

        A candidate that is missing or fails is read once more, consistently, before it is dropped:
        the first read may be older than the index. If many must fail, the first read is consistent.
        """
        rows, matching = list(candidates), dict[Key, Item]()
        unprocessed: frozenset[Key] = frozenset()
        for consistent in (False, True) if is_exact else (True,):
            if not rows:
                break
            fetched = self.reader.fetch([row.key for row in rows], consistent=consistent)
            self.budget.requests += fetched.requests
            unprocessed = fetched.unprocessed
            failing: list[PostingRow] = []
            for row in rows:
                item = fetched.items.get(row.key)
                if item is not None and self.reader.matches(item, row.order):
                    matching[row.key] = item
                    continue
                failing.append(row)
                if row.key not in unprocessed:
                    self.budget.units += self.reader.estimate_units(item, consistent=consistent)
            rows = failing
        return matching, unprocessed - matching.keys()
