"""Stories with their choices by name, so that they can be kept and replayed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daicho.testing.choices import Choices
from daicho.testing.schedules.event_choices import EventPlan
from daicho.testing.schedules.running import ScheduleBuilder
from daicho.testing.schedules.shrinking import play_story, shrink_schedule
from tests.simulator.schedules.named_choices import NarratingChoices

FIX_LOOP = "Schedule._deploy_fix"
"""The loop of events that begins when the fixed code is deployed."""


@dataclass(frozen=True)
class Story:
    """A schedule that fails, by its named choices.

    Attributes:
        event_count: the number of events. What is not delivered after them is delivered by a
            drain, without faults.
        events_before_fix: see `count_events_before_fix`.
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


def record_story(
    build: ScheduleBuilder, choices: Choices, differences: Sequence[str], seconds: float
) -> Story:
    """Shrink a schedule that was played and differed. See `shrink_schedule`."""
    plan = shrink_schedule(build, choices, differences, seconds)
    narration = NarratingChoices(plan)
    lines = play_story(build, narration)
    return Story(
        len(plan.events),
        count_events_before_fix(plan),
        narration.decided_drain_steps,
        narration.chosen,
        lines,
    )


def count_events_before_fix(plan: EventPlan) -> int | None:
    """The number of events before the fixed code is deployed, if there are some after it.

    An event of no loop never begins: it only means that the first loop ends before all events.
    """
    later = (at for at, event in enumerate(plan.events) if event.loop in ("", FIX_LOOP))
    return next(later, None)
