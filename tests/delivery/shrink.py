"""From a schedule that fails to a simpler one that fails too: fewer and simpler choices."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

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
    """The simplest sequence that is found in time.

    First whole things that happen are left out, many at once and then one by one; then single
    choices are left out or made smaller.
    """
    until = time.monotonic() + seconds
    best = choices
    improved = True
    while improved and time.monotonic() < until:
        improved = False
        for simpler_of in (_without_spans, _without_some, _with_smaller):
            while time.monotonic() < until:
                better = _first_that_fails(simpler_of(best), best, fails, until)
                if better is None:
                    break
                best, improved = better, True
    return _trimmed(best.taken)


def _first_that_fails(
    candidates: Iterator[list[int]], best: Choices, fails: Fails, until: float
) -> Choices | None:
    for each in candidates:
        if time.monotonic() > until:
            return None
        found = fails(each)
        if found is not None and _key(found.taken) < _key(best.taken):
            return found
    return None


def _without_spans(best: Choices) -> Iterator[list[int]]:
    bounds = [*best.spans, len(best.taken)]
    size = len(bounds) - 1
    while size:
        for begin in range(len(bounds) - 1 - size, -1, -max(1, size // 2)):
            yield best.taken[: bounds[begin]] + best.taken[bounds[begin + size] :]
        size //= 2


def _without_some(best: Choices) -> Iterator[list[int]]:
    used = len(_trimmed(best.taken))
    for size in (8, 4, 2, 1):
        for begin in range(used - size, -1, -1):
            yield best.taken[:begin] + best.taken[begin + size :]


def _with_smaller(best: Choices) -> Iterator[list[int]]:
    for begin, end in pairwise([0, *best.spans, len(best.taken)]):
        if any(best.taken[begin:end]):
            yield [*best.taken[:begin], *[0] * (end - begin), *best.taken[end:]]
    for place, value in enumerate(best.taken):
        for simpler in sorted({0, value // 2, value - 1}):
            if 0 <= simpler < value:
                yield [*best.taken[:place], simpler, *best.taken[place + 1 :]]


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
