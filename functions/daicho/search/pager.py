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
from typing import Any, Protocol

from daicho.search.posting_lists import (
    END,
    MOST_BLOCK,
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


class OnlyUnprocessedError(Exception):
    """No candidate was decided, because the store did not process the first one."""

    def __init__(self, left: Iterable[Any]) -> None:
        super().__init__("nothing of the page was got round to")
        self.left = tuple(left)


@dataclass(frozen=True)
class FetchedItems:
    """Items by their rows' keys, the unprocessed keys, and the number of requests."""

    items: Mapping[Any, Any]
    left: frozenset[Any] = frozenset()
    requests: int = 1


class PostingReader(Protocol):
    """The reads and checks that a page needs."""

    def read_blocks(self, wanted: Sequence[PendingRead]) -> Sequence[Block]:
        """A block of each of these lists, newest first."""

    def fetch(self, keys: Sequence[Any], *, consistent: bool) -> FetchedItems:
        """The items of these rows."""

    def matches(self, item: Any, order: str) -> bool:
        """Whether an item matches now, and has this order."""

    def estimate_units(self, item: Any | None, *, consistent: bool) -> float:
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
        over = self.requests >= REQUESTS or self.clock() >= self.until
        return over or self.remaining(pending) < MIN_UNITS

    def choose_block_size(self, pending: int) -> int:
        """Rows that the budget still allows, with one more candidate to check; at least one."""
        row_units = self.index_units / self.rows if self.rows > MIN_BLOCK_ROWS else UNITS_PER_ROW
        left = self.remaining(pending + 1) - UNITS_PER_READ
        return max(1, min(MOST_BLOCK, int(left / max(row_units, UNITS_PER_ROW / 10))))

    def charge(self, block: Block) -> None:
        """Count a block that was read."""
        self.units += block.units
        self.index_units += block.units
        self.rows += len(block.rows)
        self.requests += 1


@dataclass(frozen=True)
class SearchPage:
    """A page: its items, and where the next one starts (`END` at the end)."""

    items: list[Any]
    bound: Bound


@dataclass
class SearchPager:
    """One page's walk down a stream. ``take`` refuses an item when the page is too large."""

    reader: PostingReader
    stream: PostingCursor
    limit: int
    take: Callable[[Any], bool] = lambda _item: True
    budget: ReadBudget = field(default_factory=ReadBudget)
    _shown: list[Any] = field(default_factory=list)
    _decided: int = 0

    def read_page(self) -> SearchPage:
        """Walk until the page is full, the budget is spent, or the end is reached.

        Raises:
            OnlyUnprocessedError: the store did not process the first candidate.
        """
        began = self.stream.bound()
        while True:
            candidates, goes_on = self._collect_candidates(began)
            stopped = self._check(candidates)
            if stopped is not None:
                return SearchPage(self._shown, stopped)
            bound, full = self.stream.bound(), len(self._shown) == self.limit
            if full or not goes_on or self.budget.is_spent():
                return SearchPage(self._shown, bound)

    def _collect_candidates(self, began: Bound) -> tuple[list[PostingRow], bool]:
        """The next candidates, as many as the page lacks, and whether the stream continues."""
        candidates: list[PostingRow] = []
        stream, budget = self.stream, self.budget
        most = self.limit - len(self._shown)
        while len(candidates) < most:
            row = stream.candidate()
            if row is not None:
                if candidates and budget.remaining(len(candidates) + 1) < 0:
                    break
                candidates.append(row)
                stream.skip_to(Bound(row.order, inclusive=False))
                continue
            if stream.bound() == END:
                return candidates, False
            if stream.bound() < began and budget.is_spent(len(candidates)):
                break
            wanted = list(stream.pending_reads())
            if wanted:  # otherwise a part was left out: the next candidate may be decided now
                self._read(
                    wanted, budget.choose_block_size(len(candidates)), most - len(candidates)
                )
        return candidates, True

    def _read(self, lists: Sequence[PostingList], rows: int, missing: int) -> None:
        most = max(1, rows // len(lists))
        wanted = [posting_list.request_block(most, missing) for posting_list in lists]
        blocks = self.reader.read_blocks(wanted)
        for posting, request, block in zip(lists, wanted, blocks, strict=True):
            self.budget.charge(block)
            posting.accept_block(request, block)

    def _check(self, candidates: Sequence[PostingRow]) -> Bound | None:
        """Show the candidates that match; returns the bound at which the page must stop, if any."""
        standing, left = self._select_matching(candidates)
        for row in candidates:
            here = Bound(row.order, inclusive=True)
            if row.key in left:
                if not self._decided:
                    raise OnlyUnprocessedError(left)
                return here
            if row.key in standing:
                if not self.take(standing[row.key]):
                    return here
                self._shown.append(standing[row.key])
            self._decided += 1
        return None

    def _select_matching(
        self, candidates: Sequence[PostingRow]
    ) -> tuple[dict[Any, Any], frozenset[Any]]:
        """Items that match at the order of their rows, and the unprocessed keys.

        A candidate that is missing or fails is read once more, consistently, before it is dropped:
        the first read may be older than the index. If many must fail, the first read is consistent.
        """
        unsure = not self.stream.is_exact()
        rows, items = list(candidates), dict[Any, Any]()
        left: frozenset[Any] = frozenset()
        for consistent in (True,) if unsure else (False, True):
            if not rows:
                break
            fetched = self.reader.fetch([row.key for row in rows], consistent=consistent)
            self.budget.requests += fetched.requests
            left = fetched.left
            failing: list[PostingRow] = []
            for row in rows:
                item = fetched.items.get(row.key)
                if item is not None and self.reader.matches(item, row.order):
                    items[row.key] = item
                    continue
                failing.append(row)
                if row.key not in left:
                    self.budget.units += self.reader.estimate_units(item, consistent=consistent)
            rows = failing
        return items, left - items.keys()
