"""The story of a schedule that fails: the simplest one that fails alike, line by line."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daicho.testing.schedules.named_choices import (
    NarratingChoices,
    ReplayedChoices,
    remove_choices,
)
from daicho.testing.schedules.running import run_schedule
from daicho.testing.schedules.schedule import Schedule
from daicho.testing.schedules.shrinking import find_failure_kind, shrink_schedule


@dataclass(frozen=True)
class Story:
    """A schedule that fails, by its named choices.

    ``lines``: what happens, then the differences. ``event_count`` and ``chosen``: see
    `ReplayedChoices`.
    """

    event_count: int
    chosen: Mapping[str, str]
    lines: Sequence[str]


def tell_story(schedule: Schedule, differences: Sequence[str], seconds: float) -> Story:
    """Shrink a schedule that was played and differed. ``seconds``: the time limit."""
    forced = shrink_schedule(schedule, differences, seconds / 2)
    narration = NarratingChoices(forced)
    run_schedule(Schedule(schedule.profile, narration))
    end = time.monotonic() + seconds / 2
    kind = find_failure_kind(differences)

    def fails(chosen: Mapping[str, str]) -> bool:
        simpler = Schedule(schedule.profile, ReplayedChoices(chosen, narration.event_count))
        return time.monotonic() < end and find_failure_kind(run_schedule(simpler)) == kind

    chosen = remove_choices(narration.chosen, fails)
    replayed = ReplayedChoices(chosen, narration.event_count)
    again = Schedule(schedule.profile, replayed, noting=True)
    left = run_schedule(again) or ["the shrunk schedule does not differ again"]
    return Story(narration.event_count, chosen, [*again.log, *left])
