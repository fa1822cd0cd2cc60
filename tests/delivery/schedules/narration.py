"""A schedule in words: what its choices mean, so that it outlives changes of the simulator.

A sequence of numbers means another schedule as soon as anything is drawn in another order. Here
each choice has a name (the function that makes it, what it is about, and the how many-eth it is)
and the value that was chosen; what is not named is the simplest.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from tests.delivery.schedules.choices import Choices

T = TypeVar("T")
PLAIN = (str, int, float, tuple, type(None))


class _Named(Choices):
    """Choices that know their names."""

    def __init__(self, forced: Sequence[int] = ()) -> None:
        super().__init__(forced=forced)
        self._met: Counter[str] = Counter()

    def _name(self, about: str) -> str:
        """The name of the choice that the caller's caller makes."""
        code = sys._getframe(2).f_code
        name = " ".join(filter(None, (code.co_qualname.replace("<locals>.", ""), about)))
        self._met[name] += 1
        return f"{name} {self._met[name]}"


class Telling(_Named):
    """Plays a sequence, and says in ``said`` and ``things`` what it means.

    ``things``: how many things happen before it is exhausted.
    """

    def __init__(self, forced: Sequence[int]) -> None:
        super().__init__(forced)
        self.said: dict[str, str] = {}
        self.things = 0

    def begin_span(self) -> None:
        self.things += not self.exhausted
        super().begin_span()

    def below(self, limit: int) -> int:
        return self._say(self._name(""), self._below(limit))

    def pick(self, values: Sequence[T], about: str = "") -> T:
        name, found = self._name(about), self._below(len(values))
        self._say(name, found, _meaning(values[found], found))
        return values[found]

    def weighted(self, scale: Sequence[float], names: Sequence[str] = ()) -> int:
        name, found = self._name(""), self._weighted(scale)
        return self._say(name, found, names[found] if names else "")

    def chance(self, likely: float) -> bool:
        return self._say(self._name(""), self._weighted((1.0 - likely, 1.0))) == 1

    def _say(self, name: str, found: int, meaning: str = "") -> int:
        if found:
            self.said[name] = meaning or str(found)
        return found


class Told(_Named):
    """The choices that were told."""

    def __init__(self, said: Mapping[str, str], things: int) -> None:
        super().__init__()
        self._said = said
        self._things = things

    @property
    def exhausted(self) -> bool:
        return len(self.spans) >= self._things

    def below(self, limit: int) -> int:
        return self._take(self._name(""), [str(each) for each in range(limit)])

    def pick(self, values: Sequence[T], about: str = "") -> T:
        meanings = [_meaning(each, place) for place, each in enumerate(values)]
        return values[self._take(self._name(about), meanings)]

    def weighted(self, scale: Sequence[float], names: Sequence[str] = ()) -> int:
        meanings = names or [str(place) for place in range(len(scale))]
        found = self._take(self._name(""), meanings)
        return found if found == 0 or scale[found] > scale[found - 1] else 0

    def chance(self, likely: float) -> bool:
        return self._take(self._name(""), ["0", "1"]) == 1

    def _take(self, name: str, meanings: Sequence[str]) -> int:
        """The place of what was told; the simplest if nothing was, or it is not to be had."""
        said = self._said.get(name)
        found = meanings.index(said) if said in meanings else 0
        self.taken.append(found)
        return found


def fewer(said: Mapping[str, str], fails: Callable[[Mapping[str, str]], bool]) -> dict[str, str]:
    """The words without those that it fails without too: many at once, then one by one.

    A choice that is left out is the simplest, and the names of the others mostly stay.
    """
    best = dict(said)
    before = None
    while before != best:
        before = best
        size = len(best)
        while size:
            for begin in range(0, len(best), size):
                left_out = set(list(best)[begin : begin + size])
                some = {name: best[name] for name in best if name not in left_out}
                if left_out and fails(some):
                    best = some
            size //= 2
    return best


def _meaning(value: object, place: int) -> str:
    """A value in words, or its place if it has none."""
    return repr(value) if isinstance(value, PLAIN) else str(place)
