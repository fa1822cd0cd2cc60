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

from daicho.search.streams import END, MOST_BLOCK, Block, Bound, Posting, Row, Stream, Wanted

UNITS, REQUESTS, SECONDS = 300.0, 50, 1.5
"""What a page may take: read units beyond the rows that it shows, requests, time."""

UNITS_A_ROW = 0.02
"""Of an index row of 150 bytes, until rows of this page have been seen."""

UNITS_OF_DOUBT = 1.5
"""A row that is dropped is read twice, the second time consistently."""


LEAST_UNITS = 2.0
"""What a read of the lists and the check of a candidate may take."""

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

    @property
    def is_spent(self) -> bool:
        """Whether no more should be read."""
        short = UNITS - self.units < LEAST_UNITS
        return short or self.requests >= REQUESTS or self.clock() >= self.until

    def took(self, block: Block) -> None:
        """Count a block that was read."""
        self.units += block.units
        self.index_units += block.units
        self.rows += len(block.rows)
        self.requests += 1

    @property
    def block(self) -> int:
        """Rows of one list that what is left allows; one at least."""
        each = self.index_units / self.rows if self.rows > FEW_ROWS else UNITS_A_ROW
        return max(1, min(MOST_BLOCK, int((UNITS - self.units) / max(each, UNITS_A_ROW / 10))))

    @property
    def checks(self) -> int:
        """Candidates that what is left allows to check, should all of them fail; one at least."""
        return max(1, int((UNITS - self.units) / UNITS_OF_DOUBT))


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
            bound = self.stream.bound()
            if bound == END or not goes_on or len(self._shown) == self.limit:
                return Walked(self._shown, bound)

    def _candidates(self, began: Bound) -> tuple[list[Row], bool]:
        """The next candidates, as many as are still missing; and whether to go on behind them."""
        found: list[Row] = []
        stream, budget = self.stream, self.budget
        most = min(self.limit - len(self._shown), budget.checks)
        while len(found) < most:
            row = stream.candidate()
            if row is not None:
                found.append(row)
                stream.leap(Bound(row.order, inclusive=False))
                continue
            if stream.bound() == END:
                return found, False
            if budget.is_spent and stream.bound() < began:
                return found, False
            self._read(list(stream.wants()))
        return found, not budget.is_spent

    def _read(self, lists: Sequence[Posting]) -> None:
        most = max(1, self.budget.block // len(lists))
        wanted = [each.want(most) for each in lists]
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
