"""Ordered lists, merged and intersected from the newest down. The decided part is always defined.

A *bound* is the limit of the decided part of a list: every row above it is decided. The undecided
part begins there. An exhausted list has the bound `END`. A union has the highest bound of its
parts. An intersection has the lowest, because a row that one part has passed cannot be in it.

No code of this module reads. A stream names the lists that it needs next (`pending_reads`), and it
accepts blocks of their rows. So no result depends on how much was read before the end of a page.

Of several lists, each of which contains all matches, only the sparsest is read further. Every match
is in each of them, so the one with the fewest rows has the fewest that do not match. A block of
each identifies it: its block reaches furthest down.

The merge goes from the highest order. The rows of a list that is read lowest first get inverted
orders, the lowest becoming the highest. Inverted orders are never stored and never sent.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any, NamedTuple, Protocol

from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.requests import EVERY_KEY, KeyRange

FIRST_BLOCK_ROWS, MAX_BLOCK_ROWS = 22, 400
"""Rows of an index of keys in half a read unit, and the highest number of rows in one request.

A block doubles while its list is read from row to row. For a list that is alone, the block has the
number of rows that the page still needs, by the share of its rows that counted up to now.
"""

READ_AHEAD_FACTOR = 1.15
"""The factor between the requested and the expected number of rows of a list that is alone."""

MAX_ROWS_PER_MATCH = 22
"""Above this number of rows for each compared row, reading a list costs more than reading the
items themselves."""

MIN_JUDGED_READS = 3
"""Reads of a list before its density is judged."""


class Bound(NamedTuple):
    """Where the undecided part begins: at ``order`` if ``inclusive``, otherwise just below it."""

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

    ``rest`` is the text after the gram, and ``mark`` identifies the designator before it. They are
    set if the read requested them.
    """

    order: str
    key: Any
    rest: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Block:
    """Rows in falling order, and the position after them in the list; None at its end."""

    rows: Sequence[PostingRow]
    more: Any = None
    units: float = 0.0


@dataclass(frozen=True)
class PendingRead:
    """The rows to read: those of a list within a bound, or after the block before (``more``).

    ``rests``: with the text after the gram and the mark before it. ``range``: rows outside are not
    in the list.
    """

    list: str
    bound: Bound
    more: Any
    limit: int
    rests: bool
    range: KeyRange = EVERY_KEY


class PostingCursor(Protocol):
    """A list of candidates in falling order."""

    def bound(self) -> Bound:
        """The limit of the decided part, as far as the list has been read."""

    def candidate(self) -> PostingRow | None:
        """The row at the bound, if one was read."""

    def skip_to(self, bound: Bound) -> None:
        """Skip all rows above ``bound``."""

    def pending_reads(self) -> Iterator[PostingList]:
        """The lists that must be read before the next decision."""

    def is_exact(self) -> bool:
        """Whether each candidate matches, according to the lists."""


@dataclass(eq=False)
class PostingList:
    """One posting list; only rows count whose rest starts with ``rest`` and that have the ``mark``.

    ``inside``: the rest of a row may contain ``rest`` anywhere.
    ``certain``: its rows match, according to its lists. ``first``: the number of rows of its first
    block. ``range``: it has no rows outside. ``alone``: no other list decides whether its rows
    match.
    """

    list: str
    rest: str = ""
    certain: bool = True
    range: KeyRange = EVERY_KEY
    first: int = FIRST_BLOCK_ROWS
    mark: str = ""
    inside: bool = False
    alone: bool = False
    reads: int = 0
    read_rows: int = 0
    counted_rows: int = 0
    _rows: Sequence[PostingRow] = ()
    _more: Any = None
    _at: int = 0
    _block_rows: int = 0
    _skips: int = 0
    _start: Bound = TOP
    _ceiling: Bound = TOP

    def bound(self) -> Bound:
        """The limit of the decided part."""
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
        """The row at the bound, if one was read."""
        self._skip()
        return self._rows[self._at] if self._at < len(self._rows) else None

    def skip_to(self, bound: Bound) -> None:
        """Skip all rows above ``bound``."""
        if bound < self._ceiling:
            self._ceiling = bound
            self._skips += self._at < len(self._rows)

    def pending_reads(self) -> Iterator[PostingList]:
        """The lists to read before the next decision."""
        if self.candidate() is None and self.bound() != END:
            yield self

    def is_exact(self) -> bool:
        """Whether its candidates match, according to the lists."""
        return self.certain

    def position(self) -> Bound:
        """The limit of the part that has been read, including rows that do not count."""
        if self.reads and self._more is None:
            return END
        return Bound(self._rows[-1].order, inclusive=True) if self._rows else TOP

    def request_block(
        self, most: int = MAX_BLOCK_ROWS, missing: int = MAX_BLOCK_ROWS
    ) -> PendingRead:
        """The next read, of at most ``most`` rows, while a page lacks ``missing`` items."""
        limit = min(self._block_rows or self.first, most)
        if self.alone and self.reads:
            share = max(self.counted_rows, 1) / max(self.read_rows, 1)
            expected = int(missing * READ_AHEAD_FACTOR / share)
            limit = min(max(expected, FIRST_BLOCK_ROWS), MAX_BLOCK_ROWS, most)
        reads_rests = bool(self.rest or self.mark)
        last = Bound(self._rows[-1].order, inclusive=False) if self._rows else END
        if self._more is not None and self._ceiling >= last:
            start, more = self._start, self._more
        else:
            start, more = self._ceiling, None
        return PendingRead(self.list, start, more, limit, reads_rests, self.range)

    def accept_block(self, request: PendingRead, block: Block) -> None:
        """Continue with the block of the read ``request``."""
        if self.reads:
            is_continued = request.more is not None or self._skips > 1
            rows = self._block_rows or self.first
            self._block_rows = min(2 * rows, MAX_BLOCK_ROWS) if is_continued else self.first
        self._rows, self._more, self._at, self._skips = block.rows, block.more, 0, 0
        self._start = request.bound
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

    The parts are in the order of their last seen bounds, the highest last. Bounds only fall, so the
    parts below the highest need no second check.
    """

    def __init__(self, parts: Iterable[PostingCursor]) -> None:
        self.parts = tuple(parts)
        self._seen = sorted((part.bound(), place) for place, part in enumerate(self.parts))
        self._ceiling = TOP

    def bound(self) -> Bound:
        """The limit of the decided part."""
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
        """The row at the bound, if one was read."""
        return next((row for part in self._find_highest() if (row := part.candidate())), None)

    def skip_to(self, bound: Bound) -> None:
        """Skip all rows above ``bound``."""
        self._ceiling = min(self._ceiling, bound)

    def pending_reads(self) -> Iterator[PostingList]:
        """The lists to read before the next decision."""
        for part in self._find_highest():
            yield from part.pending_reads()

    def is_exact(self) -> bool:
        """Whether its candidates match, according to the lists."""
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

    A part that is far denser than another is left out. Then the items themselves must be checked.
    """

    parts: list[PostingCursor]
    _left_out: bool = False
    _requests_by_part: dict[int, tuple[int, Bound]] = field(default_factory=dict)

    def bound(self) -> Bound:
        """The limit of the decided part."""
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
        """The row at the bound, if one was read."""
        bound = self.bound()
        common_row = None
        for part in self.parts:
            row = part.candidate()
            if row is None or part.bound() != bound:
                return None
            common_row = row
        return common_row

    def skip_to(self, bound: Bound) -> None:
        """Skip all rows above ``bound``."""
        for part in self.parts:
            self._request_blocks(part, part.bound())
            part.skip_to(bound)

    def pending_reads(self) -> Iterator[PostingList]:
        """The lists to read before the next decision."""
        self._drop_dense_lists()
        if self.bound() == END or self.candidate() is not None:
            return
        unread_parts = [part for part in self.parts if part.candidate() is None]
        if all(leaf.reads for part in self.parts for leaf in list_leaves(part)):
            # Only the sparsest is read: the others may leap to its next row.
            unread_parts = [min(unread_parts, key=self._estimate_rows_per_match)]
        for part in unread_parts:
            yield from part.pending_reads()

    def is_exact(self) -> bool:
        """Whether its candidates match, according to the lists."""
        return not self._left_out and all(part.is_exact() for part in self.parts)

    def _request_blocks(self, part: PostingCursor, bound: Bound) -> None:
        """Record a request to a part for the rows at a bound."""
        request_count, last = self._requests_by_part.get(id(part), (0, TOP))
        if last != bound:
            self._requests_by_part[id(part)] = request_count + 1, bound

    def _drop_dense_lists(self) -> None:
        while len(self.parts) > 1:
            densest = max(self.parts, key=self._estimate_rows_per_match)
            reads = max((leaf.reads for leaf in list_leaves(densest)), default=0)
            rows_per_match = self._estimate_rows_per_match(densest)
            if reads < MIN_JUDGED_READS or rows_per_match < MAX_ROWS_PER_MATCH:
                return
            self.parts.remove(densest)
            self._left_out = True

    def _estimate_rows_per_match(self, part: PostingCursor) -> float:
        request_count, _ = self._requests_by_part.get(id(part), (0, TOP))
        return sum(leaf.read_rows for leaf in list_leaves(part)) / max(1, request_count)


def union_of(cursors: Sequence[PostingCursor]) -> PostingCursor:
    """One cursor over the rows of several."""
    return cursors[0] if len(cursors) == 1 else Union(cursors)


def list_leaves(stream: PostingCursor) -> Iterator[PostingList]:
    """The posting lists of a stream."""
    if isinstance(stream, PostingList):
        yield stream
    else:
        for part in getattr(stream, "parts", ()):
            yield from list_leaves(part)


class SparsestOf:
    """One of several streams, chosen when a block of each list has been read."""

    def __init__(self, parts: Sequence[PostingCursor]) -> None:
        self.parts = list(parts)

    def bound(self) -> Bound:
        """The limit of the decided part: the lowest of all, because each list has all matches."""
        self._choose()
        return min(part.bound() for part in self.parts)

    def candidate(self) -> PostingRow | None:
        """The row at the bound, if one was read."""
        self._choose()
        return self.parts[0].candidate() if len(self.parts) == 1 else None

    def skip_to(self, bound: Bound) -> None:
        """Skip all rows above ``bound``."""
        for part in self.parts:
            part.skip_to(bound)

    def pending_reads(self) -> Iterator[PostingList]:
        """A block of each list first; then the reads of the chosen stream."""
        self._choose()
        if len(self.parts) == 1:
            yield from self.parts[0].pending_reads()
        else:
            yield from (leaf for leaf in list_leaves(self) if not leaf.reads)

    def is_exact(self) -> bool:
        """Whether its candidates match, according to the lists."""
        return all(part.is_exact() for part in self.parts)

    def _choose(self) -> None:
        if len(self.parts) > 1 and all(leaf.reads for leaf in list_leaves(self)):
            self.parts = [min(self.parts, key=_get_position)]


def _get_position(part: PostingCursor) -> Bound:
    return max(leaf.position() for leaf in list_leaves(part))


_HIGHEST = 0x10FFFF
_END = chr(_HIGHEST)
"""The end of an inverted order: of "a" and "ab", "a" becomes the higher one."""


def invert_order(order: str) -> str:
    """The inverted order. No order contains U+0000, because keys escape it."""
    return "".join([chr(_HIGHEST - ord(character)) for character in order]) + _END


def restore_order(inverted: str) -> str:
    """The order of which `invert_order` made this one."""
    return "".join([chr(_HIGHEST - ord(character)) for character in inverted[:-1]])
