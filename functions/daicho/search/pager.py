"""A page of a search: candidates in order, checked against the items themselves, bounded.

Postings lag, so what they name is fetched and shown only if it matches now and stands at that
order. A page does bounded work: when its budget is spent it comes short, or empty, with the bound
where the next page goes on; nothing is skipped, and every page gets further.
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
"""What a page may take: read units beyond the rows that it shows, requests, time."""

UNITS_PER_ROW = 0.02
"""Of an index row of 150 bytes, until rows of this page have been seen."""

UNITS_PER_READ = 0.5
"""The least that a read takes."""

UNITS_OF_DOUBT = 1.5
"""A row that is dropped is read twice, the second time consistently."""


MIN_UNITS = 2.5
"""What one read of a list, whose cost is rounded up, and one check may take."""

MIN_BLOCK_ROWS = 20
"""Up to so many tell nothing about the size of the others."""


class OnlyUnprocessedError(Exception):
    """Nothing was decided, because the store had not got round to the first candidate."""

    def __init__(self, left: Iterable[Any]) -> None:
        super().__init__("nothing of the page was got round to")
        self.left = tuple(left)


@dataclass(frozen=True)
class FetchedItems:
    """Items by their rows' keys, what was not got round to, and what each of the others took."""

    items: Mapping[Any, Any]
    left: frozenset[Any] = frozenset()
    requests: int = 1


class PostingReader(Protocol):
    """What a page reads with."""

    def read_blocks(self, wanted: Sequence[PendingRead]) -> Sequence[Block]:
        """A block of each of these lists, newest first."""

    def fetch(self, keys: Sequence[Any], *, consistent: bool) -> FetchedItems:
        """The items of these rows."""

    def matches(self, item: Any, order: str) -> bool:
        """Whether an item matches now, and stands at this order."""

    def estimate_units(self, item: Any | None, *, consistent: bool) -> float:
        """What it took to read an item, or to find that there is none."""


@dataclass
class ReadBudget:
    """What a page has taken so far."""

    clock: Callable[[], float] = time.monotonic
    units: float = 0.0
    requests: int = 0
    rows: int = 0
    index_units: float = 0.0
    until: float = field(init=False)

    def __post_init__(self) -> None:
        self.until = self.clock() + SECONDS

    def remaining(self, pending: int) -> float:
        """Units that are left if all of the candidates that wait to be checked fail."""
        return UNITS - self.units - pending * UNITS_OF_DOUBT

    def is_spent(self, pending: int = 0) -> bool:
        """Whether no more should be read while so many candidates wait to be checked."""
        over = self.requests >= REQUESTS or self.clock() >= self.until
        return over or self.remaining(pending) < MIN_UNITS

    def choose_block_size(self, pending: int) -> int:
        """Rows that what is left allows to read, and to check one more candidate; one at least."""
        each = self.index_units / self.rows if self.rows > MIN_BLOCK_ROWS else UNITS_PER_ROW
        left = self.remaining(pending + 1) - UNITS_PER_READ
        return max(1, min(MOST_BLOCK, int(left / max(each, UNITS_PER_ROW / 10))))

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
        """Walk until the page is full, the budget spent, or the end reached.

        Raises:
            OnlyUnprocessedError: the store did not get round to the first candidate.
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
        """The next candidates, as many as are still missing; and whether to go on behind them."""
        found: list[PostingRow] = []
        stream, budget = self.stream, self.budget
        most = self.limit - len(self._shown)
        while len(found) < most:
            row = stream.candidate()
            if row is not None:
                if found and budget.remaining(len(found) + 1) < 0:
                    break
                found.append(row)
                stream.skip_to(Bound(row.order, inclusive=False))
                continue
            if stream.bound() == END:
                return found, False
            if stream.bound() < began and budget.is_spent(len(found)):
                break
            wanted = list(stream.pending_reads())
            if wanted:  # else a part was left out, and more is known now
                self._read(wanted, budget.choose_block_size(len(found)), most - len(found))
        return found, True

    def _read(self, lists: Sequence[PostingList], rows: int, missing: int) -> None:
        most = max(1, rows // len(lists))
        wanted = [each.request_block(most, missing) for each in lists]
        blocks = self.reader.read_blocks(wanted)
        for posting, asked, block in zip(lists, wanted, blocks, strict=True):
            self.budget.charge(block)
            posting.accept_block(asked, block)

    def _check(self, candidates: Sequence[PostingRow]) -> Bound | None:
        """Show those that stand; gives where the page must stop, if it must."""
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
        """Items that stand where they were found, and keys that were not got round to.

        What is missing or fails is read once more, consistently, before it is dropped: the first
        read may be older than the index. Where many must fail, the first read is that one.
        """
        unsure = not self.stream.is_exact()
        asked, found = list(candidates), dict[Any, Any]()
        left: frozenset[Any] = frozenset()
        for consistent in (True,) if unsure else (False, True):
            if not asked:
                break
            fetched = self.reader.fetch([row.key for row in asked], consistent=consistent)
            self.budget.requests += fetched.requests
            left = fetched.left
            failing: list[PostingRow] = []
            for row in asked:
                item = fetched.items.get(row.key)
                if item is not None and self.reader.matches(item, row.order):
                    found[row.key] = item
                    continue
                failing.append(row)
                if row.key not in left:
                    self.budget.units += self.reader.estimate_units(item, consistent=consistent)
            asked = failing
        return found, left - found.keys()
