"""The choices of a schedule by events, so that an event can be left out and the others stay.

In a plain sequence of numbers, each choice shifts all that follow. Here each event has choices of
its own, by name, and a choice without a name is the simplest one.

An event is a span of `Choices` that a schedule begins. A step of a drain, which delivers
everything that is not delivered yet, begins a span too, but belongs to the event that drains.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from daicho.testing.choices import Choices, fit_position

ChoiceName = tuple[str, str, int]
"""The function that chooses, its subject, and the ordinal number of the choice in its event."""
DRAIN = "SimulatedLambda.drain"


@dataclass(frozen=True)
class Event:
    """An event of a schedule.

    ``choices``: those that are not the simplest. ``loop``: the function whose loop begins it.
    """

    choices: Mapping[ChoiceName, int] = field(default_factory=dict)
    loop: str = ""


@dataclass(frozen=True)
class EventPlan:
    """All choices of a schedule that are not the simplest.

    ``setup``: before the first event. ``ending``: after the last one.
    """

    setup: Event
    events: Sequence[Event]
    ending: Event

    @property
    def parts(self) -> tuple[Event, ...]:
        """The setup, the events and the ending."""
        return (self.setup, *self.events, self.ending)

    @property
    def rank(self) -> tuple[int, int, int]:
        """A schedule of a lower rank is simpler: fewer events, then fewer choices."""
        numbers = [number for part in self.parts for number in part.choices.values()]
        return len(self.events), len(numbers), sum(numbers)

    def iterate_choices(self) -> Iterator[tuple[int, ChoiceName]]:
        """The part and the name of each choice."""
        return ((index, name) for index, part in enumerate(self.parts) for name in part.choices)

    def replace_choices(self, choices: Sequence[Mapping[ChoiceName, int]]) -> EventPlan:
        """The plan with other choices of each of its `parts`."""
        setup, *events, ending = (
            Event(chosen, part.loop) for part, chosen in zip(self.parts, choices, strict=True)
        )
        return EventPlan(setup, events, ending)


def is_drain_step(frame: FrameType) -> bool:
    """Whether a span that begins in a frame is a step of a drain, and no event."""
    return frame.f_code.co_qualname == DRAIN


class _EventChoices(Choices):
    """Choices that know their event and their name in it.

    ``event_count``: the number of events that have begun.
    """

    def __init__(self, forced: Sequence[int] = ()) -> None:
        super().__init__(forced=forced)
        self.event_count = 0
        self._is_ending = False
        self._ordinals: dict[tuple[str, str], int] = {}

    def begin_span(self) -> None:
        """See `Choices.begin_span`."""
        super().begin_span()
        frame = sys._getframe(1)
        if not self._is_ending and not is_drain_step(frame):
            self.event_count += 1
            self._ordinals = {}
            self._note_event(frame.f_code.co_qualname)

    def begin_ending(self) -> None:
        """See `Choices.begin_ending`."""
        self._is_ending = True
        self._ordinals = {}

    def _note_event(self, loop: str) -> None:
        """An event begins."""

    def _choose(self, values: Sequence[Any], subject: str = "", scale: Sequence[float] = ()) -> int:
        key = (sys._getframe(2).f_code.co_qualname, subject)
        self._ordinals[key] = ordinal = self._ordinals.get(key, 0) + 1
        return self._choose_named((*key, ordinal), values, scale)

    def _choose_named(self, name: ChoiceName, values: Sequence[Any], scale: Sequence[float]) -> int:
        """See `Choices._choose`."""
        raise NotImplementedError


class RecordingChoices(_EventChoices):
    """Plays a sequence of numbers, and records its `EventPlan`."""

    def __init__(self, forced: Sequence[int]) -> None:
        super().__init__(forced)
        self._setup: dict[ChoiceName, int] = {}
        self._events: list[tuple[str, dict[ChoiceName, int]]] = []
        self._ending: dict[ChoiceName, int] = {}

    @property
    def plan(self) -> EventPlan:
        """What was chosen."""
        events = [Event(choices, loop) for loop, choices in self._events]
        return EventPlan(Event(self._setup), events, Event(self._ending))

    def _note_event(self, loop: str) -> None:
        self._events.append((loop, {}))

    def _choose_named(self, name: ChoiceName, values: Sequence[Any], scale: Sequence[float]) -> int:
        number = Choices._choose(self, values, scale=scale)
        if number and self._is_ending:
            self._ending[name] = number
        elif number:
            choices = self._events[-1][1] if self._events else self._setup
            choices[name] = number
        return number


class PlannedChoices(_EventChoices):
    """The choices of an `EventPlan`. All others are the simplest.

    ``limits``: for each part of the plan, the numbers of values from which its choices were made.
    """

    def __init__(self, plan: EventPlan) -> None:
        super().__init__()
        self._plan = plan
        self._parts = plan.parts
        self.limits: list[dict[ChoiceName, int]] = [{} for _ in self._parts]

    @property
    def exhausted(self) -> bool:
        """Whether all events of the plan have begun."""
        return self.event_count >= len(self._plan.events)

    @property
    def is_loop_over(self) -> bool:
        """See `Choices.is_loop_over`."""
        loop = sys._getframe(1).f_code.co_qualname
        return self.exhausted or self._plan.events[self.event_count].loop != loop

    def _choose_named(self, name: ChoiceName, values: Sequence[Any], scale: Sequence[float]) -> int:
        number = 0
        if self._is_ending or self.event_count <= len(self._plan.events):
            index = -1 if self._is_ending else self.event_count
            self.limits[index][name] = len(values)
            number = fit_position(self._parts[index].choices.get(name, 0), len(values), scale)
        self.taken.append(number)
        return number
