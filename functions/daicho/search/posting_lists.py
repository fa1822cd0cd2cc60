"""Ordered lists, merged and intersected from the newest down, knowing at any time what is decided.

A *bound* says down to where a list is decided: every row above it is. What is still undecided
begins there. A list that is exhausted has the bound `END`. Of a union the highest bound of its
parts counts, of an intersection the lowest, since what one part has left behind cannot be in it.

Nothing here reads: a stream says which lists it `wants` read before it can go on, and is given
blocks of their rows. So nothing depends on how much was read before a page had to end.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

FIRST_BLOCK, MOST_BLOCK = 22, 400
"""Rows of a keys-only index that half a read unit holds, and the most that are asked for at once.

A block doubles while its list is read on from row to row. Of a list that stands alone it is as
many as hold what the page still lacks, by the share of its rows that counted up to now.
"""

TO_SPARE = 1.15
"""What is asked for of a list alone, over what should do."""

TOO_DENSE = 22
"""Past so many rows for each row that it is compared with, reading a list costs more than asking
the items themselves."""

MIN_READS = 3
"""Reads of a list before its density is judged."""


class Bound(NamedTuple):
    """Where the undecided begins: at ``order`` itself if ``inclusive``, else just below it."""

    order: str
    inclusive: bool

    def admits(self, order: str) -> bool:
        """Whether a row of this order is undecided."""
        return Bound(order, inclusive=True) <= self


END = Bound("", inclusive=False)
TOP = Bound("\U0010ffff" * 257, inclusive=True)
"""Above every order: a sort key has at most 1,024 bytes, 256 such code points."""


@dataclass(frozen=True)
class PostingRow:
    """A row of a list. Rows of one item have one order and one key, in every list.

    ``rest`` is what stands behind the gram, and ``mark`` tells the designator before it, for who
    asks for them.
    """

    order: str
    key: Any
    rest: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Block:
    """Rows in falling order, and where the list goes on behind them; None at its end."""

    rows: Sequence[PostingRow]
    more: Any = None
    units: float = 0.0


@dataclass(frozen=True)
class PendingRead:
    """What is to be read: rows of a list within a bound, or behind the block before (``more``).

    ``rests``: with what stands behind the gram, and before it. ``floor``: what is below it is not
    in the list.
    """

    list: str
    bound: Bound
    more: Any
    limit: int
    rests: bool
    floor: str = ""


class PostingCursor(Protocol):
    """A list of candidates in falling order."""

    def bound(self) -> Bound:
        """Down to where it is decided, as far as it has been read."""

    def candidate(self) -> PostingRow | None:
        """The row that stands at the bound, if it is known that one does."""

    def skip_to(self, bound: Bound) -> None:
        """Leave everything above ``bound`` behind."""

    def pending_reads(self) -> Iterator[PostingList]:
        """The lists that must be read before it can say more."""

    def is_exact(self) -> bool:
        """Whether a candidate is known to match, as far as the lists say."""


@dataclass(eq=False)
class PostingList:
    """One posting list; only rows count whose rest starts with ``rest`` and that have the ``mark``.

    ``inside``: whose rest holds it anywhere.
    ``certain``: what is in it matches, as far as its lists know. ``first``: rows of its first
    block. ``floor``: it ends there. ``alone``: no other list decides whether its rows match.
    """

    list: str
    rest: str = ""
    certain: bool = True
    floor: str = ""
    first: int = FIRST_BLOCK
    mark: str = ""
    inside: bool = False
    alone: bool = False
    reads: int = 0
    read_rows: int = 0
    counted_rows: int = 0
    _rows: Sequence[PostingRow] = ()
    _more: Any = None
    _at: int = 0
    _block: int = 0
    _leaps: int = 0
    _start: Bound = TOP
    _ceiling: Bound = TOP

    def bound(self) -> Bound:
        """Down to where it is decided."""
        self._skip()
        if self._at < len(self._rows):
            return Bound(self._rows[self._at].order, inclusive=True)
        if not self.reads:
            return self._ceiling
        if self._more is None:
            return END
        # More rows of the last one's item may follow in the next block.
        last = Bound(self._rows[-1].order, inclusive=True) if self._rows else TOP
        return min(self._ceiling, last)

    def candidate(self) -> PostingRow | None:
        """The row at the bound, if one is known to stand there."""
        self._skip()
        return self._rows[self._at] if self._at < len(self._rows) else None

    def skip_to(self, bound: Bound) -> None:
        """Leave everything above ``bound`` behind."""
        if bound < self._ceiling:
            self._ceiling = bound
            self._leaps += self._at < len(self._rows)

    def pending_reads(self) -> Iterator[PostingList]:
        """The lists to read before it can say more."""
        if self.candidate() is None and self.bound() != END:
            yield self

    def is_exact(self) -> bool:
        """Whether its candidates match, as far as the lists say."""
        return self.certain

    def position(self) -> Bound:
        """Down to where it has been read, whatever of it counts."""
        if self.reads and self._more is None:
            return END
        return Bound(self._rows[-1].order, inclusive=True) if self._rows else TOP

    def request_block(self, most: int = MOST_BLOCK, missing: int = MOST_BLOCK) -> PendingRead:
        """What is to be read next, of at most so many rows, while a page lacks ``missing``."""
        limit = min(self._block or self.first, most)
        if self.alone and self.reads:
            share = max(self.counted_rows, 1) / max(self.read_rows, 1)
            needed = int(missing * TO_SPARE / share)
            limit = min(max(needed, FIRST_BLOCK), MOST_BLOCK, most)
        behind = bool(self.rest or self.mark)
        last = Bound(self._rows[-1].order, inclusive=False) if self._rows else END
        if self._more is not None and self._ceiling >= last:
            start, more = self._start, self._more
        else:
            start, more = self._ceiling, None
        return PendingRead(self.list, start, more, limit, behind, self.floor)

    def accept_block(self, wanted: PendingRead, block: Block) -> None:
        """Go on with the block that was wanted."""
        if self.reads:
            goes_on = wanted.more is not None or self._leaps > 1
            rows = self._block or self.first
            self._block = min(2 * rows, MOST_BLOCK) if goes_on else self.first
        self._rows, self._more, self._at, self._leaps = block.rows, block.more, 0, 0
        self._start = wanted.bound
        self.reads += 1
        self.read_rows += len(block.rows)
        self.counted_rows += sum(map(self._counts, block.rows))

    def _skip(self) -> None:
        rows, at = self._rows, self._at
        while at < len(rows):
            row = rows[at]
            if self._ceiling.admits(row.order) and self._counts(row):
                break
            at += 1
        self._at = at

    def _counts(self, row: PostingRow) -> bool:
        if self.inside:
            return self.rest in row.rest
        return row.rest.startswith(self.rest) and self.mark in ("", row.mark)


class Union:
    """The union of streams: each item once.

    The parts stand in the order of their bounds as last seen, the highest last. Bounds only fall,
    so that those below the highest need not be looked at again.
    """

    def __init__(self, parts: Iterable[PostingCursor]) -> None:
        self.parts = tuple(parts)
        self._seen = sorted((part.bound(), place) for place, part in enumerate(self.parts))
        self._ceiling = TOP

    def bound(self) -> Bound:
        """Down to where it is decided."""
        while self._seen:
            seen, place = self._seen[-1]
            part = self.parts[place]
            part.skip_to(self._ceiling)
            bound = part.bound()
            if bound == seen:
                return bound
            self._seen.pop()
            if bound != END:
                insort(self._seen, (bound, place))
        return END

    def candidate(self) -> PostingRow | None:
        """The row at the bound, if one is known to stand there."""
        return next((row for part in self._find_highest() if (row := part.candidate())), None)

    def skip_to(self, bound: Bound) -> None:
        """Leave everything above ``bound`` behind."""
        self._ceiling = min(self._ceiling, bound)

    def pending_reads(self) -> Iterator[PostingList]:
        """The lists to read before it can say more."""
        for part in self._find_highest():
            yield from part.pending_reads()

    def is_exact(self) -> bool:
        """Whether its candidates match, as far as the lists say."""
        return all(part.is_exact() for part in self.parts)

    def _find_highest(self) -> Iterator[PostingCursor]:
        bound = self.bound()
        for seen, place in reversed(self._seen.copy()):
            if seen != bound:
                return
            part = self.parts[place]
            part.skip_to(self._ceiling)
            if part.bound() == bound:
                yield part


@dataclass(eq=False)
class Intersection:
    """The intersection of streams, by leapfrogging.

    A part that is far denser than another is left out: then the items themselves must be asked.
    """

    parts: list[PostingCursor]
    _left_out: bool = False
    _asked: dict[int, tuple[int, Bound]] = field(default_factory=dict)

    def bound(self) -> Bound:
        """Down to where it is decided."""
        bound = min((part.bound() for part in self.parts), default=END)
        while True:
            for part in self.parts:
                if part.bound() > bound:
                    self._request_blocks(part, bound)
                    part.skip_to(bound)
            lowest = min((part.bound() for part in self.parts), default=END)
            if lowest == bound:
                return bound
            bound = lowest

    def candidate(self) -> PostingRow | None:
        """The row at the bound, if one is known to stand there."""
        bound = self.bound()
        found = None
        for part in self.parts:
            row = part.candidate()
            if row is None or part.bound() != bound:
                return None
            found = row
        return found

    def skip_to(self, bound: Bound) -> None:
        """Leave everything above ``bound`` behind."""
        for part in self.parts:
            self._request_blocks(part, part.bound())
            part.skip_to(bound)

    def pending_reads(self) -> Iterator[PostingList]:
        """The lists to read before it can say more."""
        self._drop_dense_lists()
        if self.bound() == END or self.candidate() is not None:
            return
        wanting = [part for part in self.parts if part.candidate() is None]
        if all(each.reads for part in self.parts for each in list_leaves(part)):
            # The sparsest alone: where it goes on, the others may leap.
            wanting = [min(wanting, key=self._estimate_rows_per_match)]
        for part in wanting:
            yield from part.pending_reads()

    def is_exact(self) -> bool:
        """Whether its candidates match, as far as the lists say."""
        return not self._left_out and all(part.is_exact() for part in self.parts)

    def _request_blocks(self, part: PostingCursor, bound: Bound) -> None:
        """Note that a part was asked for what stands at a bound."""
        asked, last = self._asked.get(id(part), (0, TOP))
        if last != bound:
            self._asked[id(part)] = asked + 1, bound

    def _drop_dense_lists(self) -> None:
        while len(self.parts) > 1:
            densest = max(self.parts, key=self._estimate_rows_per_match)
            reads = max((each.reads for each in list_leaves(densest)), default=0)
            if reads < MIN_READS or self._estimate_rows_per_match(densest) < TOO_DENSE:
                return
            self.parts.remove(densest)
            self._left_out = True

    def _estimate_rows_per_match(self, part: PostingCursor) -> float:
        asked, _ = self._asked.get(id(part), (0, TOP))
        return sum(each.read_rows for each in list_leaves(part)) / max(1, asked)


def list_leaves(stream: PostingCursor) -> Iterator[PostingList]:
    """The posting lists of a stream."""
    if isinstance(stream, PostingList):
        yield stream
    else:
        for part in getattr(stream, "parts", ()):
            yield from list_leaves(part)
