"""Every decision of a schedule, drawn from a seed and recorded, so that it can be replayed.

A decision is a small whole number, and 0 is always the simplest: no fault, nothing more to write.
A schedule that is replayed with fewer events or smaller numbers is a simpler schedule, and
shrinking needs no more than that. (The idea is that of Hypothesis; its own engine costs more than
the schedules do.)
"""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, TypeVar

T = TypeVar("T")


class Choices:
    """A sequence of decisions: ``forced`` ones first, then, if there is a seed, drawn ones.

    Without a seed, all that follows ``forced`` is 0.
    """

    def __init__(self, seed: int | str | None = None, forced: Sequence[int] = ()) -> None:
        self._random = random.Random(seed).random if seed is not None else None  # noqa: S311
        self._forced = forced
        self._forced_count = len(forced)
        self.taken: list[int] = []
        self.spans: list[int] = []
        """The position in ``taken`` where each event begins, and each step of a drain."""

    @property
    def exhausted(self) -> bool:
        """Whether all further decisions are 0."""
        return self._random is None and len(self.taken) >= self._forced_count

    @property
    def is_loop_over(self) -> bool:
        """Whether all further events belong to another loop than the caller's."""
        return self.exhausted

    def begin_span(self) -> None:
        """The next decisions are about one event."""
        self.spans.append(len(self.taken))

    def begin_ending(self) -> None:
        """The next decisions are about the end of the schedule, which follows all events."""

    def draw_number(self, limit: int) -> int:
        """A number from 0 to ``limit`` - 1, each with the same probability."""
        return self._choose(range(limit))

    def pick(self, values: Sequence[T], subject: str = "") -> T:
        """One of some values; the first is the simplest.

        ``subject``: what is picked, for choices by name.
        """
        return values[self._choose(values, subject)]

    def draw_weighted(self, scale: Sequence[float], names: Sequence[str] = ()) -> int:
        """A position in a scale that `build_scale` made.

        ``names`` describe the positions, for choices by name.
        """
        return self._choose(names or range(len(scale)), scale=scale)

    def draw_bool(self, probability: float) -> bool:
        """Yes or no; no is simpler."""
        return self._choose(range(2), scale=(1.0 - probability, 1.0)) == 1

    def _choose(self, values: Sequence[Any], subject: str = "", scale: Sequence[float] = ()) -> int:
        """The position of one of some values; without a scale, each has the same probability."""
        if len(self.taken) < self._forced_count:
            position = fit_position(self._forced[len(self.taken)], len(values), scale)
        elif self._random is None:
            position = 0
        elif scale:
            position = bisect(scale, self._random() * scale[-1])
        else:
            position = int(self._random() * len(values))
        self.taken.append(position)
        return position


def fit_position(position: int, count: int, scale: Sequence[float]) -> int:
    """The nearest position of so many; 0 instead of one that has no weight in a scale."""
    position = min(position, count - 1)
    return 0 if scale and position and scale[position] == scale[position - 1] else position


def build_scale(weights: Sequence[float]) -> tuple[float, ...]:
    """A scale for `Choices.draw_weighted`: the running sums of the weights."""
    return tuple(accumulate(weights))
