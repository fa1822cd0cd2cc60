"""Whether what clients saw of a document is what some serial order of their calls would show.

Every change of a document has a version, and versions are an order: so this is not a search for an
order but a check of the one that the document claims. It holds if all changes, replayed in it,
give what every read showed, and if no call took effect before it began or after it ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any, Literal

State = Mapping[str, Any]
ABSENT = object()
MOST_UNKNOWN = 6


@dataclass
class Call:
    """One call, its beginning and end on one clock. ``end`` is None if no answer came.

    ``version``: of the document, as it was answered. ``section``: None for the whole document.
    ``value``: what was written or read; ABSENT for a section that was removed or is not there.
    """

    does: Literal["write", "read"]
    section: str | None
    value: Any
    begin: int
    end: int | None = None
    version: int | None = None

    def after(self, state: State) -> State:
        """The document after this change."""
        if self.section is None:
            return dict(self.value)
        if self.value is ABSENT:
            return {name: value for name, value in state.items() if name != self.section}
        return {**state, self.section: self.value}


@dataclass
class History:
    """All calls on one document, which began as ``first`` with version 1."""

    first: State
    calls: list[Call] = field(default_factory=list)

    def wrong(self) -> str | None:
        """Why no serial order explains it; None if the versions' order does."""
        answered = [each for each in self._writes() if each.version is not None]
        known = {each.version or 0: each for each in answered}
        if len(known) < len(answered):
            return "two changes are of one version"
        newest = max([1, *(each.version or 0 for each in self.calls)])
        gaps = [version for version in range(2, newest + 1) if version not in known]
        unknown = [each for each in self._writes() if each.version is None]
        if len(gaps) > len(unknown):
            return f"nobody has made the versions {gaps}"
        found: str | None = None
        if len(unknown) > MOST_UNKNOWN:
            raise ValueError(f"{len(unknown)} calls without an answer are too many to try")
        for chosen in permutations(unknown, len(gaps)):
            found = self._replayed(known | dict(zip(gaps, chosen, strict=True)), newest)
            if found is None:
                return None
        return found

    def _writes(self) -> Iterator[Call]:
        return (each for each in self.calls if each.does == "write")

    def _replayed(self, changes: Mapping[int, Call], newest: int) -> str | None:
        states: list[State] = [{}, self.first]
        for version in range(2, newest + 1):
            states.append(changes[version].after(states[-1]))
        placed = [(changes[version], version) for version in range(2, newest + 1)]
        for each in self.calls:
            if each.does == "read" and each.section is None:
                if each.version is None:
                    continue
                was = states[each.version]
                if list(each.value.items()) != list(was.items()):  # in order
                    return f"version {each.version} was {was}, not {each.value}"
                placed.append((each, each.version))
        for one, at in placed:
            for other, later in placed:
                if one.end is not None and one.end < other.begin and _behind(one, at, other, later):
                    return f"{one} ended before {other} began"
        reads = [c for c in self.calls if c.does == "read" and c.section and c.end is not None]
        for each in sorted(reads, key=lambda call: call.end or 0):
            seen = _seen(each, placed, states)
            if seen is None:
                return f"{each} was never so while it was read"
            placed.append((each, seen))
        return None


def _seen(read: Call, placed: list[tuple[Call, int]], states: list[State]) -> int | None:
    """The first version that a read of a section may have seen: the earliest leaves most room."""
    low = max([1, *(at for call, at in placed if call.end and call.end < read.begin)])
    late = [at - (call.does == "write") for call, at in placed if call.begin > (read.end or 0)]
    high = min([len(states) - 1, *late])
    possible = range(low, high + 1)
    return next(
        (at for at in possible if states[at].get(read.section or "", ABSENT) == read.value), None
    )


def _behind(one: Call, at: int, other: Call, later: int) -> bool:
    """Whether a call that ended before another began stands behind it."""
    return at >= later if other.does == "write" else at > later
