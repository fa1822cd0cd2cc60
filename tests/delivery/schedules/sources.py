"""All classes of schedules by name: the profiles, and the small worlds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from daicho.testing.schedules.running import ScheduleBuilder, build_schedule
from daicho.testing.schedules.schedule import Schedule
from tests.delivery.schedules.profiles import BY_NAME, build_all_schedules
from tests.delivery.worlds import likes, tallies
from tests.delivery.worlds.likes import Likes
from tests.delivery.worlds.tallies import Tallies

AnySchedule = Schedule | Tallies | Likes

SMALL_WORLDS: Mapping[str, Callable[[int], AnySchedule]] = {
    "tallies": tallies.build_schedule,
    "likes": likes.build_schedule,
}
"""One tally under rollups and folds, and one fast counter that grows."""
SMALL_WORLD_BUILDERS: Mapping[str, ScheduleBuilder] = {"tallies": Tallies, "likes": Likes}
NAMES: Sequence[str] = (*BY_NAME, *SMALL_WORLDS)
SEEDS_PER_SMALL_WORLD = 5
"""One seed in so many is also played in each small world."""


def build_named_schedule(name: str, seed: int) -> AnySchedule:
    """The schedule of a seed in a profile or a small world."""
    if name in SMALL_WORLDS:
        return SMALL_WORLDS[name](seed)
    return build_schedule(BY_NAME[name], seed)


def get_named_builder(name: str) -> ScheduleBuilder:
    """What makes schedules of a profile or a small world with given choices."""
    if name in SMALL_WORLD_BUILDERS:
        return SMALL_WORLD_BUILDERS[name]
    return partial(Schedule, BY_NAME[name])


def get_schedule_name(schedule: AnySchedule) -> str:
    """The name of a schedule's profile or small world."""
    if isinstance(schedule, Schedule):
        return schedule.profile.name
    return "tallies" if isinstance(schedule, Tallies) else "likes"


def build_named_schedules(
    seed: int, count: int, profile: str | None = None, *, small_worlds: bool = True
) -> Iterator[AnySchedule]:
    """The schedules of the seeds from ``seed`` on.

    Args:
        profile: the profile or small world to which all belong. Without it, the profiles alternate
            by their shares.
        small_worlds: whether the schedules of the small worlds are played in addition.
    """
    if profile is not None:
        for number in range(seed, seed + count):
            yield build_named_schedule(profile, number)
        return
    for schedule in build_all_schedules(count, seed):
        yield schedule
        if small_worlds and schedule.seed % SEEDS_PER_SMALL_WORLD == 1:
            for build in SMALL_WORLDS.values():
                yield build(schedule.seed)
