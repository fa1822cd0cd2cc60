"""Explores every state of a small model, breadth first: a counterexample is a shortest one.

A model is an initial state, and what may happen next in each state. What happens is an action, in
words. States are hashable tuples. Time is a part of the state, as small whole numbers: an action
lets a tick of it pass. So nothing is drawn, and nothing is repeated.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

State = TypeVar("State", bound=Hashable)
Step = tuple[str, State]
MAX_STATES = 300_000


class TooManyStatesError(Exception):
    """A model has more states than are worth exploring."""


@dataclass(frozen=True)
class Result:
    """How many states were reached, and the actions that lead to a wrong one; None without one."""

    states: int
    counterexample: tuple[str, ...] | None


@dataclass(frozen=True)
class Space(Generic[State]):
    """A state space. ``without``: the name of the condition that is left out, or ""."""

    initial: State
    list_steps: Callable[[State, str], Iterable[Step[State]]]
    is_wrong: Callable[[State], bool]

    def explore(self, without: str = "") -> Result:
        """Visit all states, or those up to the first wrong one.

        Raises:
            TooManyStatesError: there are more than `MAX_STATES`.
        """
        reached: dict[State, tuple[State, str] | None] = {self.initial: None}
        waiting = deque([self.initial])
        while waiting:
            state = waiting.popleft()
            if self.is_wrong(state):
                return Result(len(reached), _list_actions(state, reached))
            for action, following in self.list_steps(state, without):
                if following not in reached:
                    reached[following] = (state, action)
                    waiting.append(following)
            if len(reached) > MAX_STATES:
                raise TooManyStatesError(f"more than {MAX_STATES} states")
        return Result(len(reached), None)


@dataclass(frozen=True)
class Model:
    """A rule, its conditions, and the state spaces that test them.

    ``conditions``: what the product does. ``assumptions``: about clocks and AWS. Each has a name,
    and is described in a line.
    """

    rule: int
    conditions: Mapping[str, str]
    assumptions: Mapping[str, str]
    spaces: tuple[Space[Any], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All that may be left out."""
        return (*self.conditions, *self.assumptions)

    def explore(self, without: str = "") -> Result:
        """Visit all states of all spaces, or those up to the first wrong one."""
        states = 0
        for space in self.spaces:
            result = space.explore(without)
            states += result.states
            if result.counterexample is not None:
                return Result(states, result.counterexample)
        return Result(states, None)


def _list_actions(
    state: State, reached: Mapping[State, tuple[State, str] | None]
) -> tuple[str, ...]:
    actions: list[str] = []
    while (before := reached[state]) is not None:
        state, action = before
        actions.append(action)
    return tuple(reversed(actions))
