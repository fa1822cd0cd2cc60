"""The story of a schedule that fails: the simplest one that fails alike, line by line."""

from __future__ import annotations

from collections.abc import Sequence

from daicho.testing.choices import Choices
from daicho.testing.schedules.event_choices import PlannedChoices
from daicho.testing.schedules.running import ScheduleBuilder, run_schedule
from daicho.testing.schedules.shrinking import shrink_schedule

MAX_LINES = 100
"""The maximum of a story: the lines in the middle of a longer one are omitted."""


def tell_story(
    build: ScheduleBuilder, choices: Choices, differences: Sequence[str], seconds: float
) -> list[str]:
    """Shrink a schedule that was played and differed, and play it. See `shrink_schedule`.

    Returns:
        What happens in it, then its differences, in a line each.
    """
    return play_story(build, PlannedChoices(shrink_schedule(build, choices, differences, seconds)))


def play_story(build: ScheduleBuilder, choices: Choices) -> list[str]:
    """Play a schedule that was shrunk; returns its story, in lines."""
    schedule = build(choices, noting=True)
    left = run_schedule(schedule) or ["the shrunk schedule does not differ again"]
    lines = [*schedule.log, *left]
    if len(lines) > MAX_LINES:
        half, omitted = MAX_LINES // 2, len(lines) - MAX_LINES
        lines = [*lines[:half], f"({omitted:,} lines are omitted)", *lines[-half:]]
    return lines
