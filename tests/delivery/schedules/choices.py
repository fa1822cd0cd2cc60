"""Every decision of a schedule, drawn from a seed and written down, so that it can be replayed.

A decision is a small whole number, and 0 is always the simplest: no fault, nothing more to write.
A schedule that is replayed from a shorter or simpler sequence is a simpler schedule, which is all
that shrinking needs. (The idea is Hypothesis'; its own engine costs more than our schedules do.)
"""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """A sequence of decisions: ``forced`` ones first, then, if there is a seed, drawn ones."""

    def __init__(self, seed: int | str | None = None, forced: Sequence[int] = ()) -> None:
        self._random = random.Random(seed).random if seed is not None else None
        self._forced = forced
        self.taken: list[int] = []
        self.spans: list[int] = []
        """Where each thing that happens begins: what shrinking leaves out as a whole."""

    @property
    def exhausted(self) -> bool:
        """Whether all that is still to come is 0."""
        return self._random is None and len(self.taken) >= len(self._forced)

    def begin_span(self) -> None:
        """The next choices are about one thing."""
        self.spans.append(len(self.taken))

    def below(self, limit: int) -> int:
        """A number from 0 to ``limit`` - 1, all alike."""
        return self._below(limit)

    def pick(self, values: Sequence[T], about: str = "") -> T:
        """One of some values; the first is the simplest. ``about``: what is picked, for `Told`."""
        return values[self._below(len(values))]

    def weighted(self, scale: Sequence[float], names: Sequence[str] = ()) -> int:
        """A place in a scale that `scale_of` made. ``names`` say what stands there, for `Told`."""
        return self._weighted(scale)

    def chance(self, likely: float) -> bool:
        """Yes or no; no is simpler."""
        return self._weighted((1.0 - likely, 1.0)) == 1

    def _below(self, limit: int) -> int:
        if len(self.taken) < len(self._forced):
            found = min(self._forced[len(self.taken)], limit - 1)
        else:
            found = int(self._random() * limit) if self._random else 0
        self.taken.append(found)
        return found

    def _weighted(self, scale: Sequence[float]) -> int:
        if len(self.taken) < len(self._forced):
            found = min(self._forced[len(self.taken)], len(scale) - 1)
            if found and scale[found] == scale[found - 1]:
                found = 0  # it cannot happen here
        else:
            found = bisect(scale, self._random() * scale[-1]) if self._random else 0
        self.taken.append(found)
        return found


def scale_of(weights: Sequence[float]) -> tuple[float, ...]:
    """A scale for `Choices.weighted`."""
    return tuple(accumulate(weights))
