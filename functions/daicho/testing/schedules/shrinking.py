"""Shrinking: from a schedule that fails to a simpler one that fails alike, and its story."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence, Set
from itertools import combinations, product

from daicho.derive.contributions import Amount
from daicho.testing.choices import Choices
from daicho.testing.schedules.event_choices import (
    ChoiceName,
    Event,
    EventPlan,
    PlannedChoices,
    RecordingChoices,
)
from daicho.testing.schedules.running import ScheduleBuilder, run_schedule

SHRINKING_S = 60.0
MAX_EVENTS = 20
"""A shrunk schedule should have no more events, or nobody reads its story."""
MAX_LINES = 100
"""The maximum of a story: the lines in the middle of a longer one are omitted."""
MAX_PAIRED_EVENTS = 40
"""With so many events, pairs of them are left out too."""
MAX_RAISED_LIMIT = 4
"""A choice of so many values may be changed, so that one event does the work of several."""
RAISED_DISTANCE = 5
"""The distance to events whose work is done by another one."""

NOTHING = ("None", str(Amount()))
"""How the side of a difference is described that has nothing."""

PlayIfFails = Callable[[EventPlan], PlannedChoices | None]
"""Plays a plan; returns its choices if it fails alike, else None."""


def shrink_schedule(
    build: ScheduleBuilder,
    choices: Choices,
    differences: Sequence[str],
    seconds: float = SHRINKING_S,
) -> EventPlan:
    """The choices of a simpler schedule that fails alike.

    Args:
        build: makes a schedule of the same class.
        choices: of the schedule that fails.
        differences: the result of the schedule that fails.
        seconds: the time limit.
    """
    kind = find_failure_kind(differences)

    def play_if_fails(plan: EventPlan) -> PlannedChoices | None:
        planned = PlannedChoices(plan)
        return planned if find_failure_kind(run_schedule(build(planned))) == kind else None

    recorded = RecordingChoices(choices.taken)
    run_schedule(build(recorded))
    # A schedule without an event to come writes nothing more: the last one here never begins.
    events = [*recorded.plan.events, Event()]
    plan = EventPlan(recorded.plan.setup, events, recorded.plan.ending)
    return _Shrinker(plan, play_if_fails, seconds).run()


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
    schedule = build(choices)
    left = run_schedule(schedule) or ["the shrunk schedule does not differ again"]
    lines = [*schedule.log, *left]
    if len(lines) > MAX_LINES:
        half, omitted = MAX_LINES // 2, len(lines) - MAX_LINES
        lines = [*lines[:half], f"({omitted:,} lines are omitted)", *lines[-half:]]
    return lines


class _Shrinker:
    """The simplest plan so far, and attempts to simplify it further.

    First events are left out, many at once and then one at a time, then choices of the remaining
    events. If nothing more can be left out, pairs of events are left out, and a choice of one event
    is changed so that another event is not needed. For example, an invocation may perform six
    operations in one event, or one operation in each of six.
    """

    def __init__(self, plan: EventPlan, play_if_fails: PlayIfFails, seconds: float) -> None:
        self._best = plan
        self._choices: PlannedChoices | None = None
        self._play_if_fails = play_if_fails
        self._end = time.monotonic() + seconds

    def run(self) -> EventPlan:
        """Simplify until nothing more can be left out, or the time is over."""
        self._choices = self._play_if_fails(self._best)
        before = None
        while self._choices and before is not self._best and self._has_time:
            before = self._best
            # Without choices in the end first: a delivery that never ends makes thousands.
            self._accept_if_simpler(EventPlan(before.setup, before.events, Event()))
            self._truncate()
            self._remove_events()
            self._remove_choices()
            self._reduce_choices()
            if before is self._best:
                self._remove_pairs_of_events()
                self._combine_events()
        return self._best

    @property
    def _has_time(self) -> bool:
        return time.monotonic() < self._end

    def _accept_if_simpler(self, candidate: EventPlan) -> bool:
        """Accept a candidate that is simpler and fails alike."""
        if candidate.rank >= self._best.rank or not self._has_time:
            return False
        choices = self._play_if_fails(candidate)
        if choices is None:
            return False
        self._best, self._choices = candidate, choices
        return True

    def _replace_events(self, events: Sequence[Event]) -> EventPlan:
        return EventPlan(self._best.setup, events, self._best.ending)

    def _truncate(self) -> None:
        """Find a short beginning that fails: what is not delivered yet is delivered anyway."""
        size = 0
        while size < len(self._best.events) and self._has_time:
            if self._accept_if_simpler(self._replace_events(self._best.events[:size])):
                return
            size = max(1, 2 * size)

    def _remove_events(self) -> None:
        size = len(self._best.events)
        while size and self._has_time:
            end = len(self._best.events)
            while end > 0 and self._has_time:
                events = self._best.events
                begin = max(0, end - size)
                self._accept_if_simpler(self._replace_events([*events[:begin], *events[end:]]))
                end = begin
            size //= 2

    def _remove_choices(self) -> None:
        """Make choices the simplest: those of a function, then many at once, then each."""
        for function in sorted({name[0] for _, name in self._best.iterate_choices()}):
            self._remove_named(
                {choice for choice in self._best.iterate_choices() if choice[1][0] == function}
            )
        size = sum(1 for _ in self._best.iterate_choices())
        while size and self._has_time:
            choices = list(self._best.iterate_choices())
            for begin in range(0, len(choices), size):
                self._remove_named(set(choices[begin : begin + size]))
            size //= 2

    def _remove_named(self, removed: Set[tuple[int, ChoiceName]]) -> None:
        choices = [
            {name: number for name, number in part.choices.items() if (index, name) not in removed}
            for index, part in enumerate(self._best.parts)
        ]
        self._accept_if_simpler(self._best.replace_choices(choices))

    def _reduce_choices(self) -> None:
        for index, name in list(self._best.iterate_choices()):
            choices = [dict(part.choices) for part in self._best.parts]
            value = choices[index][name]
            for simpler in sorted({1, value // 2, value - 1}):
                choices[index][name] = simpler
                if 0 < simpler < value and self._accept_if_simpler(
                    self._best.replace_choices([dict(part) for part in choices])
                ):
                    break

    def _remove_pairs_of_events(self) -> None:
        """Remove two events that only together can be left out."""
        if len(self._best.events) > MAX_PAIRED_EVENTS:
            return
        for pair in combinations(range(len(self._best.events)), 2):
            events = [event for at, event in enumerate(self._best.events) if at not in pair]
            if self._accept_if_simpler(self._replace_events(events)):
                return

    def _combine_events(self) -> None:
        """Change a choice of an event, and remove one or two of the following events."""
        index = 0
        while MAX_EVENTS < len(self._best.events) > index and self._has_time:
            if not any(map(self._accept_if_simpler, self._combine(index))):
                index += 1

    def _combine(self, index: int) -> Iterator[EventPlan]:
        """The plans in which one event does the work of two or three."""
        if self._choices is None:
            return
        events, event = self._best.events, self._best.events[index]
        limits = self._choices.limits[index + 1]
        following = range(index + 1, min(len(events), index + 1 + RAISED_DISTANCE))
        for removed_count, (name, limit) in product((1, 2), limits.items()):
            first = event.choices.get(name, 0) + 1
            for value in range(first, limit if limit <= MAX_RAISED_LIMIT else first):
                raised = Event({**event.choices, name: value}, event.loop)
                for removed in combinations(following, removed_count):
                    rest = [events[at] for at in range(index + 1, len(events)) if at not in removed]
                    yield self._replace_events([*events[:index], raised, *rest])


def find_failure_kind(differences: Sequence[str]) -> str:
    """What kind of thing the first difference is, without its details; empty for none.

    Both sides of a difference ``what: key: actual instead of expected`` belong to the kind, because
    a row that is left over has another cause than one that is missing.
    """
    if not differences:
        return ""
    what, _, details = differences[0].partition(":")
    actual, separator, expected = details.partition(" instead of ")
    if not separator:
        return what
    return f"{what}: {_find_side_kind(actual)} instead of {_find_side_kind(expected)}"


def _find_side_kind(text: str) -> str:
    """Whether one side of a difference has nothing, or something."""
    side = text.rpartition(": ")[2].removesuffix(", and settled")
    return "nothing" if side in NOTHING else "something"
