"""Shrinking: from a schedule that fails to a simpler one that fails alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from daicho.testing.choices import Choices
from daicho.testing.schedules.running import run_schedule
from daicho.testing.schedules.schedule import Schedule

SHRINKING_S = 60.0

PlayIfFails = Callable[[Sequence[int]], Choices | None]
"""Plays a sequence; returns the choices that were taken if it fails alike, else None."""


def shrink_schedule(
    schedule: Schedule, differences: Sequence[str], seconds: float = SHRINKING_S
) -> list[int]:
    """The choices of a simpler schedule that fails alike."""
    kind = find_failure_kind(differences)

    def play_if_fails(numbers: Sequence[int]) -> Choices | None:
        simpler = Schedule(schedule.profile, Choices(forced=numbers))
        return simpler.choices if find_failure_kind(run_schedule(simpler)) == kind else None

    return shrink(schedule.choices, play_if_fails, seconds)


def shrink(choices: Choices, play_if_fails: PlayIfFails, seconds: float = SHRINKING_S) -> list[int]:
    """The simplest sequence that is found in ``seconds``."""
    return _Shrinker(choices, play_if_fails, seconds).run()


class _Shrinker:
    """The simplest sequence so far, and attempts to simplify it further.

    First whole events are left out, many at once and then one at a time; then single choices are
    left out or made smaller. A schedule ends where its sequence does, so even a zero at the end
    may matter.
    """

    def __init__(self, choices: Choices, play_if_fails: PlayIfFails, seconds: float) -> None:
        self._best = list(choices.taken)
        self._spans = list(choices.spans)
        self._play_if_fails = play_if_fails
        self._end = time.monotonic() + seconds

    def run(self) -> list[int]:
        """Simplify until nothing more can be left out, or the time is over."""
        before = None
        while before != self._best and self._has_time:
            before = self._best
            self._remove_spans()
            self._zero_spans()
            self._remove_choices()
            self._reduce_choices()
        return self._best

    @property
    def _has_time(self) -> bool:
        return time.monotonic() < self._end

    @property
    def _bounds(self) -> list[int]:
        """Where events begin, and where the last one ends."""
        return [*self._spans, len(self._best)]

    def _accept_if_simpler(self, candidate: list[int]) -> bool:
        """Accept a candidate that is simpler and fails alike."""
        if _rank(candidate) >= _rank(self._best) or not self._has_time:
            return False
        choices = self._play_if_fails(candidate)
        if choices is None:
            return False
        self._best = candidate
        self._spans = [span for span in choices.spans if span < len(candidate)]
        return True

    def _remove_spans(self) -> None:
        size = len(self._spans)
        while size and self._has_time:
            position = len(self._spans) - size
            while position >= 0 and self._has_time:
                end = self._bounds[min(position + size, len(self._spans))]
                self._accept_if_simpler(self._best[: self._bounds[position]] + self._best[end:])
                position = min(position, len(self._spans)) - max(1, size // 2)
            size //= 2

    def _zero_spans(self) -> None:
        """Set all choices of an event to 0."""
        position = 0
        while position + 1 < len(self._bounds) and self._has_time:
            begin, end = self._bounds[position], self._bounds[position + 1]
            if any(self._best[begin:end]):
                zeros = [0] * (end - begin)
                self._accept_if_simpler([*self._best[:begin], *zeros, *self._best[end:]])
            position += 1

    def _remove_choices(self) -> None:
        for size in (4, 2, 1):
            position = len(self._best) - size
            while position >= 0 and self._has_time:
                self._accept_if_simpler(self._best[:position] + self._best[position + size :])
                position -= 1

    def _reduce_choices(self) -> None:
        position = 0
        while position < len(self._best) and self._has_time:
            value = self._best[position]
            for simpler in sorted({0, value // 2, value - 1}):
                if 0 <= simpler < value and self._accept_if_simpler(
                    [*self._best[:position], simpler, *self._best[position + 1 :]]
                ):
                    break
            position += 1


def find_failure_kind(differences: Sequence[str]) -> str:
    """The first difference without its details, by which schedules fail alike; empty for none."""
    return differences[0].partition(":")[0] if differences else ""


def _rank(numbers: Sequence[int]) -> tuple[int, list[int]]:
    return len(numbers), list(numbers)
