"""The sparsest of lists each of which holds all that is looked for: it alone is read on.

Whatever matches is in each of them, so the one with the fewest rows passes by the fewest that do
not match. Which one that is shows in a block of each: its reaches furthest down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from daicho.search.posting_lists import Bound, PostingCursor, PostingList, PostingRow, list_leaves


class SparsestOf:
    """One of several streams, chosen when a block of each list has been read."""

    def __init__(self, parts: Sequence[PostingCursor]) -> None:
        self.parts = list(parts)

    def bound(self) -> Bound:
        """Down to where it is decided: as far as any of them is, for each knows all."""
        self._choose()
        return min(part.bound() for part in self.parts)

    def candidate(self) -> PostingRow | None:
        """The row at the bound, if one is known to stand there."""
        self._choose()
        return self.parts[0].candidate() if len(self.parts) == 1 else None

    def skip_to(self, bound: Bound) -> None:
        """Leave everything above ``bound`` behind."""
        for part in self.parts:
            part.skip_to(bound)

    def pending_reads(self) -> Iterator[PostingList]:
        """A block of each list first; then what the chosen stream wants."""
        self._choose()
        if len(self.parts) == 1:
            yield from self.parts[0].pending_reads()
        else:
            yield from (each for each in list_leaves(self) if not each.reads)

    def is_exact(self) -> bool:
        """Whether its candidates match, as far as the lists say."""
        return all(part.is_exact() for part in self.parts)

    def _choose(self) -> None:
        if len(self.parts) > 1 and all(each.reads for each in list_leaves(self)):
            self.parts = [min(self.parts, key=_get_position)]


def _get_position(part: PostingCursor) -> Bound:
    return max(each.position() for each in list_leaves(part))
