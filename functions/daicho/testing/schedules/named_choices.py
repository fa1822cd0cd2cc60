"""A schedule by named choices, so that it stays the same when the simulator changes.

A sequence of numbers means another schedule as soon as anything is drawn in another order. Here
each choice has a name (the function that makes it, its subject, and its ordinal number) and the
value that was chosen. A choice without a name is the simplest one.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from daicho.testing.choices import Choices

T = TypeVar("T")
_PRINTED_TYPES = (str, int, float, tuple, type(None))


class _NamedChoices(Choices):
    """Choices that know their names."""

    def __init__(self, forced: Sequence[int] = ()) -> None:
        super().__init__(forced=forced)
        self._name_counts: Counter[str] = Counter()

    def _name_choice(self, subject: str) -> str:
        """The name of the choice that the caller's caller makes."""
        code = sys._getframe(2).f_code
        function = code.co_qualname.replace("<locals>.", "")
        name = " ".join(filter(None, (function, subject)))
        self._name_counts[name] += 1
        return f"{name} {self._name_counts[name]}"


class NarratingChoices(_NamedChoices):
    """Plays a sequence of numbers, and records in ``chosen`` what they mean.

    ``event_count``: the number of events before the sequence is exhausted.
    """

    def __init__(self, forced: Sequence[int]) -> None:
        super().__init__(forced)
        self.chosen: dict[str, str] = {}
        self.event_count = 0

    def begin_span(self) -> None:
        """The next decisions are about one event."""
        self.event_count += not self.exhausted
        super().begin_span()

    def draw_number(self, limit: int) -> int:
        """See `Choices.draw_number`."""
        return self._record(self._name_choice(""), self._draw_number(limit))

    def pick(self, values: Sequence[T], subject: str = "") -> T:
        """See `Choices.pick`."""
        name, position = self._name_choice(subject), self._draw_number(len(values))
        self._record(name, position, _describe(values[position], position))
        return values[position]

    def draw_weighted(self, scale: Sequence[float], names: Sequence[str] = ()) -> int:
        """See `Choices.draw_weighted`."""
        name, position = self._name_choice(""), self._draw_weighted(scale)
        return self._record(name, position, names[position] if names else "")

    def draw_bool(self, probability: float) -> bool:
        """See `Choices.draw_bool`."""
        scale = (1.0 - probability, 1.0)
        return self._record(self._name_choice(""), self._draw_weighted(scale)) == 1

    def _record(self, name: str, number: int, description: str = "") -> int:
        if number:
            self.chosen[name] = description or str(number)
        return number


class ReplayedChoices(_NamedChoices):
    """The choices that `NarratingChoices` recorded. All others are the simplest."""

    def __init__(self, chosen: Mapping[str, str], event_count: int) -> None:
        super().__init__()
        self._chosen = chosen
        self._event_count = event_count

    @property
    def exhausted(self) -> bool:
        """Whether the recorded number of events has begun."""
        return len(self.spans) >= self._event_count

    def draw_number(self, limit: int) -> int:
        """See `Choices.draw_number`."""
        return self._take(self._name_choice(""), [str(number) for number in range(limit)])

    def pick(self, values: Sequence[T], subject: str = "") -> T:
        """See `Choices.pick`."""
        descriptions = [_describe(value, position) for position, value in enumerate(values)]
        return values[self._take(self._name_choice(subject), descriptions)]

    def draw_weighted(self, scale: Sequence[float], names: Sequence[str] = ()) -> int:
        """See `Choices.draw_weighted`."""
        descriptions = names or [str(position) for position in range(len(scale))]
        position = self._take(self._name_choice(""), descriptions)
        return position if position == 0 or scale[position] > scale[position - 1] else 0

    def draw_bool(self, probability: float) -> bool:
        """See `Choices.draw_bool`."""
        return self._take(self._name_choice(""), ["0", "1"]) == 1

    def _take(self, name: str, descriptions: Sequence[str]) -> int:
        """The position of the recorded value; 0 if there is none, or it is not possible here."""
        chosen = self._chosen.get(name)
        position = descriptions.index(chosen) if chosen in descriptions else 0
        self.taken.append(position)
        return position


def remove_choices(
    chosen: Mapping[str, str], fails: Callable[[Mapping[str, str]], bool]
) -> dict[str, str]:
    """The choices without those that ``fails`` does not need: first many, then one at a time.

    A choice that is left out is the simplest, and the names of the others mostly stay the same.
    """
    best = dict(chosen)
    before = None
    while before != best:
        before = best
        size = len(best)
        while size:
            for begin in range(0, len(best), size):
                left_out = set(list(best)[begin : begin + size])
                candidate = {name: best[name] for name in best if name not in left_out}
                if left_out and fails(candidate):
                    best = candidate
            size //= 2
    return best


def _describe(value: object, position: int) -> str:
    """A value as text, or its position if it has none that stays the same."""
    return repr(value) if isinstance(value, _PRINTED_TYPES) else str(position)
