"""The sparsest of several lists, each of which contains all matches. Only it is read further.

Every match is in each of the lists, so the list with the fewest rows has the fewest rows that do
not match. A block of each list identifies it: its block reaches furthest down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from daicho.search.posting_lists import Bound, PostingCursor, PostingList, PostingRow, list_leaves


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
