"""Schedules of seeds, and how they are played."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Protocol

from daicho.testing.choices import Choices
from daicho.testing.schedules.profile import Profile, spread_evenly
from daicho.testing.schedules.schedule import Schedule


class Playable(Protocol):
    """A schedule of any kind. ``log``: see `Schedule`."""

    choices: Choices
    log: list[str]

    def run(self) -> list[str]:
        """Play it; returns the differences, in a line each."""


ScheduleBuilder = Callable[[Choices], Playable]
"""Makes a schedule of one class, not yet played, with given choices."""


def build_schedule(profile: Profile, seed: int) -> Schedule:
    """The schedule of a seed."""
    schedule = Schedule(profile, Choices(f"{profile.name}/{seed}"))
    schedule.seed = seed
    return schedule


def get_builder(schedule: Schedule) -> ScheduleBuilder:
    """What makes schedules of the same profile."""
    return partial(Schedule, schedule.profile)


def run_schedule(schedule: Playable) -> list[str]:
    """Play a schedule; returns the differences. An exception of the code under test counts."""
    try:
        return schedule.run()
    except Exception as error:  # a fault in the library may end in any
        return [f"{error!r}"]


def build_schedules(profiles: Sequence[Profile], count: int, first: int = 1) -> Iterator[Schedule]:
    """The schedules of the seeds from ``first`` on, of all profiles by their shares.

    The same seed is always the same schedule, whichever is the first.
    """
    order = spread_evenly(profiles)
    return (
        build_schedule(order[(seed - 1) % len(order)], seed) for seed in range(first, first + count)
    )
