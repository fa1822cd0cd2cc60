"""A schedule by named choices, so that it stays the same when the simulator changes.

A sequence of numbers means another schedule as soon as anything is drawn in another order. Here
each choice has a name (the function that makes it, its subject, and its ordinal number) and the
value that was chosen. A choice without a name is the simplest one.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from types import FrameType
from typing import Any

from daicho.testing.choices import Choices, fit_position
from daicho.testing.schedules.event_choices import (
    DRAIN,
    ChoiceName,
    EventPlan,
    PlannedChoices,
    is_drain_step,
)

_PRINTED_TYPES = (str, int, float, Decimal, tuple, type(None))


class _NameCounter:
    """Names choices: the function that chooses, its subject, and the ordinal number."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def name_choice(self, function: str, subject: str) -> str:
        """The name of the next choice of a function about a subject."""
        name = " ".join(filter(None, (function.replace("<locals>.", ""), subject)))
        self._counts[name] += 1
        return f"{name} {self._counts[name]}"


class NarratingChoices(PlannedChoices):
    """Plays an `EventPlan`, and records in ``chosen`` what its numbers mean.

    ``decided_drain_steps``: the number of steps of drains with a choice that is not the simplest.
    """

    def __init__(self, plan: EventPlan) -> None:
        super().__init__(plan)
        self.chosen: dict[str, str] = {}
        self._names = _NameCounter()
        self._decided_spans: set[int] = set()

    @property
    def decided_drain_steps(self) -> int:
        """See the class."""
        return len(self._decided_spans)

    def _choose_named(self, name: ChoiceName, values: Sequence[Any], scale: Sequence[float]) -> int:
        number = super()._choose_named(name, values, scale)
        readable_name = self._names.name_choice(*name[:2])
        if number:
            self.chosen[readable_name] = _describe(values[number], number, scale)
            if _is_in_drain(sys._getframe(1)):
                self._decided_spans.add(len(self.spans))
        return number


class ReplayedChoices(Choices):
    """The choices that `NarratingChoices` recorded. All others are the simplest.

    Args:
        chosen: the choices by name.
        event_count: the number of events.
        events_before_fix: the number of those before the fixed code is deployed, if some follow.
    """

    def __init__(
        self,
        chosen: Mapping[str, str],
        event_count: int,
        events_before_fix: int | None = None,
    ) -> None:
        super().__init__()
        self._chosen = chosen
        self._names = _NameCounter()
        self._event_count = event_count
        self._events_before_fix = event_count if events_before_fix is None else events_before_fix
        self._begun_events = 0

    @property
    def exhausted(self) -> bool:
        """Whether the recorded number of events has begun."""
        return self._begun_events >= self._event_count

    @property
    def is_loop_over(self) -> bool:
        """Whether all events before the fix have begun."""
        return self._begun_events >= self._events_before_fix

    def begin_span(self) -> None:
        """See `Choices.begin_span`."""
        super().begin_span()
        self._begun_events += not is_drain_step(sys._getframe(1))

    def _choose(self, values: Sequence[Any], subject: str = "", scale: Sequence[float] = ()) -> int:
        """The position of the recorded value; 0 if there is none, or it is not possible here."""
        name = self._names.name_choice(sys._getframe(2).f_code.co_qualname, subject)
        chosen = self._chosen.get(name)
        descriptions = [_describe(value, at, scale) for at, value in enumerate(values)]
        position = descriptions.index(chosen) if chosen in descriptions else 0
        position = fit_position(position, len(values), scale)
        self.taken.append(position)
        return position


def _is_in_drain(frame: FrameType | None) -> bool:
    """Whether a frame is called by a drain, directly or not."""
    while frame is not None and frame.f_code.co_qualname != DRAIN:
        frame = frame.f_back
    return frame is not None


def _describe(value: object, position: int, scale: Sequence[float]) -> str:
    """A value as text, or its position if it has none that stays the same."""
    if scale:
        return str(value)
    return repr(value) if isinstance(value, _PRINTED_TYPES) else str(position)
