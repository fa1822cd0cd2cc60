"""The story of a schedule that fails: the simplest one that fails alike, line by line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daicho.testing.choices import Choices
from daicho.testing.schedules.named_choices import NarratingChoices
from daicho.testing.schedules.running import ScheduleBuilder, run_schedule
from daicho.testing.schedules.shrinking import shrink_schedule

MAX_LINES = 100
"""Of a story: the lines in the middle of a longer one are omitted."""


@dataclass(frozen=True)
class Story:
    """A schedule that fails, by its named choices.

    Attributes:
        event_count: the number of events. What is not delivered after them is delivered by a
            drain, without faults.
        events_before_fix: see `EventPlan`.
        decided_drain_steps: the number of steps of drains with a choice that is not the simplest.
        chosen: the choices that are not the simplest, by name; see `ReplayedChoices`.
        lines: what happens, then the differences.
    """

    event_count: int
    events_before_fix: int | None
    decided_drain_steps: int
    chosen: Mapping[str, str]
    lines: Sequence[str]

    @property
    def size(self) -> int:
        """The number of events and of steps of drains that have to be understood."""
        return self.event_count + self.decided_drain_steps


def tell_story(
    build: ScheduleBuilder, choices: Choices, differences: Sequence[str], seconds: float
) -> Story:
    """Shrink a schedule that was played and differed. See `shrink_schedule`."""
    plan = shrink_schedule(build, choices, differences, seconds)
    narration = NarratingChoices(plan)
    schedule = build(narration, noting=True)
    left = run_schedule(schedule) or ["the shrunk schedule does not differ again"]
    lines = [*schedule.log, *left]
    if len(lines) > MAX_LINES:
        half, omitted = MAX_LINES // 2, len(lines) - MAX_LINES
        lines = [*lines[:half], f"({omitted:,} lines are omitted)", *lines[-half:]]
    return Story(
        len(plan.events),
        plan.events_before_fix,
        narration.decided_drain_steps,
        narration.chosen,
        lines,
    )
