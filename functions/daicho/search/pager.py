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

from daicho.search.posting_lists import END, MOST_BLOCK, Block, Bound, Posting, Row, Stream, Wanted

UNITS, REQUESTS, SECONDS = 300.0, 50, 1.5
"""What a page may take: read units beyond the rows that it shows, requests, time."""

UNITS_A_ROW = 0.02
"""Of an index row of 150 bytes, until rows of this page have been seen."""

UNITS_A_READ = 0.5
"""The least that a read takes."""

UNITS_OF_DOUBT = 1.5
"""A row that is dropped is read twice, the second time consistently."""


LEAST_UNITS = 2.5
"""What one read of a list, whose cost is rounded up, and one check may take."""

FEW_ROWS = 20
"""Up to so many tell nothing about the size of the others."""


class OnlyUnprocessedError(Exception):
    """Nothing was decided, because the store had not got round to the first candidate."""

    def __init__(self, left: Iterable[Any]) -> None:
        super().__init__("nothing of the page was got round to")
        self.left = tuple(left)


@dataclass(frozen=True)
class Fetched:
    """Items by their rows' keys, what was not got round to, and what each of the others took."""

    items: Mapping[Any, Any]
    left: frozenset[Any] = frozenset()
    requests: int = 1


class Reader(Protocol):
    """What a page reads with."""

    def blocks(self, wanted: Sequence[Wanted]) -> Sequence[Block]:
        """A block of each of these lists, newest first."""

    def fetch(self, keys: Sequence[Any], *, consistent: bool) -> Fetched:
        """The items of these rows."""

    def stands(self, item: Any, order: str) -> bool:
        """Whether an item matches now, and stands at this order."""

    def units(self, item: Any | None, *, consistent: bool) -> float:
        """What it took to read an item, or to find that there is none."""


@dataclass
class Budget:
    """What a page has taken so far."""

    clock: Callable[[], float] = time.monotonic
    units: float = 0.0
    requests: int = 0
    rows: int = 0
    index_units: float = 0.0
    until: float = field(init=False)

    def __post_init__(self) -> None:
        self.until = self.clock() + SECONDS

    def left(self, pending: int) -> float:
        """Units that are left if all of the candidates that wait to be checked fail."""
        return UNITS - self.units - pending * UNITS_OF_DOUBT

    def is_spent(self, pending: int = 0) -> bool:
        """Whether no more should be read while so many candidates wait to be checked."""
        over = self.requests >= REQUESTS or self.clock() >= self.until
        return over or self.left(pending) < LEAST_UNITS

    def block(self, pending: int) -> int:
        """Rows that what is left allows to read, and to check one more candidate; one at least."""
        each = self.index_units / self.rows if self.rows > FEW_ROWS else UNITS_A_ROW
        left = self.left(pending + 1) - UNITS_A_READ
        return max(1, min(MOST_BLOCK, int(left / max(each, UNITS_A_ROW / 10))))

    def took(self, block: Block) -> None:
        """Count a block that was read."""
        self.units += block.units
        self.index_units += block.units
        self.rows += len(block.rows)
        self.requests += 1


@dataclass(frozen=True)
class Walked:
    """A page: its items, and where the next one starts (`END` at the end)."""

    items: list[Any]
    bound: Bound


@dataclass
class Walk:
    """One page's walk down a stream. ``take`` refuses an item when the page is too large."""

    reader: Reader
    stream: Stream
    limit: int
    take: Callable[[Any], bool] = lambda _item: True
    budget: Budget = field(default_factory=Budget)
    _shown: list[Any] = field(default_factory=list)
    _decided: int = 0

    def page(self) -> Walked:
        """Walk until the page is full, the budget spent, or the end reached.

        Raises:
            OnlyUnprocessedError: the store did not get round to the first candidate.
        """
        began = self.stream.bound()
        while True:
            candidates, goes_on = self._candidates(began)
            stopped = self._check(candidates)
            if stopped is not None:
                return Walked(self._shown, stopped)
            bound, full = self.stream.bound(), len(self._shown) == self.limit
            if full or not goes_on or self.budget.is_spent():
                return Walked(self._shown, bound)

    def _candidates(self, began: Bound) -> tuple[list[Row], bool]:
        """The next candidates, as many as are still missing; and whether to go on behind them."""
        found: list[Row] = []
        stream, budget = self.stream, self.budget
        most = self.limit - len(self._shown)
        while len(found) < most:
            row = stream.candidate()
            if row is not None:
                if found and budget.left(len(found) + 1) < 0:
                    break
                found.append(row)
                stream.leap(Bound(row.order, inclusive=False))
                continue
            if stream.bound() == END:
                return found, False
            if stream.bound() < began and budget.is_spent(len(found)):
                break
            wanted = list(stream.wants())
            if wanted:  # else a part was left out, and more is known now
                self._read(wanted, budget.block(len(found)), most - len(found))
        return found, True

    def _read(self, lists: Sequence[Posting], rows: int, missing: int) -> None:
        most = max(1, rows // len(lists))
        wanted = [each.want(most, missing) for each in lists]
        blocks = self.reader.blocks(wanted)
        for posting, asked, block in zip(lists, wanted, blocks, strict=True):
            self.budget.took(block)
            posting.take(asked, block)

    def _check(self, candidates: Sequence[Row]) -> Bound | None:
        """Show those that stand; gives where the page must stop, if it must."""
        standing, left = self._standing(candidates)
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

    def _standing(self, candidates: Sequence[Row]) -> tuple[dict[Any, Any], frozenset[Any]]:
        """Items that stand where they were found, and keys that were not got round to.

        What is missing or fails is read once more, consistently, before it is dropped: the first
        read may be older than the index. Where many must fail, the first read is that one.
        """
        unsure = not self.stream.sure()
        asked, found = list(candidates), dict[Any, Any]()
        left: frozenset[Any] = frozenset()
        for consistent in (True,) if unsure else (False, True):
            if not asked:
                break
            fetched = self.reader.fetch([row.key for row in asked], consistent=consistent)
            self.budget.requests += fetched.requests
            left = fetched.left
            failing: list[Row] = []
            for row in asked:
                item = fetched.items.get(row.key)
                if item is not None and self.reader.stands(item, row.order):
                    found[row.key] = item
                    continue
                failing.append(row)
                if row.key not in left:
                    self.budget.units += self.reader.units(item, consistent=consistent)
            asked = failing
        return found, left - found.keys()
