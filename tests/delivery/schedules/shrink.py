"""From a schedule that fails to a simpler one that fails too: fewer and simpler choices."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from tests.delivery.schedules.choices import Choices
from tests.delivery.schedules.schedule import Delivery, failures

SECONDS = 60.0

Fails = Callable[[Sequence[int]], Choices | None]
"""Plays a sequence; gives the choices that were really taken if it fails alike, else None."""


def shrunk_of(delivery: Delivery, found: Sequence[str], seconds: float = SECONDS) -> list[int]:
    """The choices of a simpler schedule that fails as this one did."""
    kind = kind_of(found)

    def fails(choices: Sequence[int]) -> Choices | None:
        simpler = Delivery(delivery.profile, Choices(forced=choices))
        return simpler.choices if kind_of(failures(simpler)) == kind else None

    return shrunk(delivery.choices, fails, seconds)


def shrunk(choices: Choices, fails: Fails, seconds: float = SECONDS) -> list[int]:
    """The simplest sequence that is found in time."""
    return _Shrinking(choices, fails, seconds).run()


class _Shrinking:
    """The best sequence so far, and tries to better it.

    First whole things that happen are left out, many at once and then one by one; then single
    choices are left out or made smaller. What is played is just what is kept: a schedule ends
    where its sequence does, so that even a zero at the end may matter.
    """

    def __init__(self, choices: Choices, fails: Fails, seconds: float) -> None:
        self._best = list(choices.taken)
        self._spans = list(choices.spans)
        self._fails = fails
        self._until = time.monotonic() + seconds

    def run(self) -> list[int]:
        before = None
        while before != self._best and self._has_time:
            before = self._best
            self._leave_out_spans()
            self._make_simple()
            self._leave_out_some()
            self._make_smaller()
        return self._best

    @property
    def _has_time(self) -> bool:
        return time.monotonic() < self._until

    @property
    def _bounds(self) -> list[int]:
        """Where things that happen begin, and where the last one ends."""
        return [*self._spans, len(self._best)]

    def _is_better(self, candidate: list[int]) -> bool:
        """Take a candidate that fails and is simpler."""
        if _key(candidate) >= _key(self._best) or not self._has_time:
            return False
        found = self._fails(candidate)
        if found is None:
            return False
        self._best = candidate
        self._spans = [each for each in found.spans if each < len(candidate)]
        return True

    def _leave_out_spans(self) -> None:
        size = len(self._spans)
        while size and self._has_time:
            place = len(self._spans) - size
            while place >= 0 and self._has_time:
                end = self._bounds[min(place + size, len(self._spans))]
                self._is_better(self._best[: self._bounds[place]] + self._best[end:])
                place = min(place, len(self._spans)) - max(1, size // 2)
            size //= 2

    def _make_simple(self) -> None:
        """All choices of a thing that happens at once."""
        place = 0
        while place + 1 < len(self._bounds) and self._has_time:
            begin, end = self._bounds[place], self._bounds[place + 1]
            if any(self._best[begin:end]):
                zeros = [0] * (end - begin)
                self._is_better([*self._best[:begin], *zeros, *self._best[end:]])
            place += 1

    def _leave_out_some(self) -> None:
        for size in (4, 2, 1):
            place = len(self._best) - size
            while place >= 0 and self._has_time:
                self._is_better(self._best[:place] + self._best[place + size :])
                place -= 1

    def _make_smaller(self) -> None:
        place = 0
        while place < len(self._best) and self._has_time:
            value = self._best[place]
            for simpler in sorted({0, value // 2, value - 1}):
                if 0 <= simpler < value and self._is_better(
                    [*self._best[:place], simpler, *self._best[place + 1 :]]
                ):
                    break
            place += 1


def kind_of(found: Sequence[str]) -> str:
    """What is wrong, less the details: a simpler schedule has to fail in the same way."""
    return found[0].partition(":")[0] if found else ""


def _key(choices: Sequence[int]) -> tuple[int, list[int]]:
    return len(choices), list(choices)
