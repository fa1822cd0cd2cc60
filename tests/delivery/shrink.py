"""From a schedule that fails to a simpler one that fails too: fewer and simpler choices."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from tests.delivery.choices import Choices
from tests.delivery.profiles import Profile
from tests.delivery.schedule import Delivery, failures, play

SECONDS = 60.0

Fails = Callable[[Sequence[int]], Choices | None]
"""Plays a sequence; gives the choices that were really taken if it fails alike, else None."""


def story(profile: Profile, seed: int, seconds: float = SECONDS) -> str:
    """What a failing seed does, shrunk: for the one who has to understand it."""
    delivery = play(profile, seed)
    first = failures(delivery)
    kind = _kind(first)

    def fails(choices: Sequence[int]) -> Choices | None:
        simpler = Delivery(profile, Choices(forced=choices))
        return simpler.choices if _kind(failures(simpler)) == kind else None

    best = shrunk(delivery.choices, fails, seconds)
    told = Delivery(profile, Choices(forced=best), noting=True)
    found = failures(told)
    return "\n".join(
        [
            f"profile {profile.name}, seed {seed}: {first[0]}",
            f"shrunk from {len(delivery.choices.taken)} choices to {len(best)}:",
            f"choices = {best}",
            *told.log,
            *found,
        ]
    )


def shrunk(choices: Choices, fails: Fails, seconds: float = SECONDS) -> list[int]:
    """The simplest sequence that is found in time."""
    return _Shrinking(choices, fails, seconds).run()


class _Shrinking:
    """The best sequence so far, and tries to better it.

    First whole things that happen are left out, many at once and then one by one; then single
    choices are left out or made smaller.
    """

    def __init__(self, choices: Choices, fails: Fails, seconds: float) -> None:
        self._best = choices
        self._fails = fails
        self._until = time.monotonic() + seconds

    def run(self) -> list[int]:
        before = None
        while before != self._key and self._has_time:
            before = self._key
            self._leave_out_spans()
            self._make_simple()
            self._leave_out_some()
            self._make_smaller()
        return _trimmed(self._best.taken)

    @property
    def _key(self) -> tuple[int, list[int]]:
        return _key(self._best.taken)

    @property
    def _has_time(self) -> bool:
        return time.monotonic() < self._until

    def _is_better(self, candidate: list[int]) -> bool:
        """Take a candidate that fails and is simpler."""
        if _key(candidate) >= self._key or not self._has_time:
            return False
        found = self._fails(candidate)
        if found is None or _key(found.taken) >= self._key:
            return False
        self._best = found
        return True

    def _leave_out_spans(self) -> None:
        size = len(self._best.spans)
        while size and self._has_time:
            place = len(self._best.spans) - size
            while place >= 0 and self._has_time:
                bounds = [*self._best.spans, len(self._best.taken)]
                end = bounds[min(place + size, len(bounds) - 1)]
                self._is_better(self._best.taken[: bounds[place]] + self._best.taken[end:])
                place = min(place, len(self._best.spans)) - max(1, size // 2)
            size //= 2

    def _make_simple(self) -> None:
        """All choices of a thing that happens at once."""
        for place in range(len(self._best.spans) + 1):
            bounds = [0, *self._best.spans, len(self._best.taken)]
            if place + 1 < len(bounds) and any(self._best.taken[bounds[place] : bounds[place + 1]]):
                zeros = [0] * (bounds[place + 1] - bounds[place])
                taken = self._best.taken
                self._is_better([*taken[: bounds[place]], *zeros, *taken[bounds[place + 1] :]])

    def _leave_out_some(self) -> None:
        for size in (4, 2, 1):
            place = len(_trimmed(self._best.taken)) - size
            while place >= 0 and self._has_time:
                self._is_better(self._best.taken[:place] + self._best.taken[place + size :])
                place -= 1

    def _make_smaller(self) -> None:
        for place in range(len(self._best.taken)):
            if not self._has_time or place >= len(self._best.taken):
                break
            value = self._best.taken[place]
            for simpler in sorted({0, value // 2, value - 1}):
                if 0 <= simpler < value and self._is_better(
                    [*self._best.taken[:place], simpler, *self._best.taken[place + 1 :]]
                ):
                    break


def _kind(found: Sequence[str]) -> str:
    """What is wrong, less the details: a simpler schedule has to fail in the same way."""
    return found[0].partition(":")[0] if found else ""


def _trimmed(choices: Sequence[int]) -> list[int]:
    """Without the zeros at the end, which follow by themselves."""
    end = len(choices)
    while end and choices[end - 1] == 0:
        end -= 1
    return list(choices[:end])


def _key(choices: Sequence[int]) -> tuple[int, list[int]]:
    trimmed = _trimmed(choices)
    return len(trimmed), trimmed
