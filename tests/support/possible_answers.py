"""Judges answers while items are written: each item may be seen in any state that it had meanwhile.

A state is recorded before it is written, because it may be seen before the write is answered. Once
all writes are derived, only the newest state of each item remains (`WrittenItems.settle`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

Row = dict[str, Any]


@dataclass
class WrittenItems:
    """The items, and the states in which each may be seen; None: it does not exist."""

    _states: dict[str, tuple[Row | None, ...]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def record(self, id: str, row: Row | None) -> None:
        """Record a state that an item is about to get."""
        with self._lock:
            self._states[id] = (*self._states.get(id, (None,)), row)

    def settle(self) -> None:
        """Forget the older states: nothing shows them any more."""
        with self._lock:
            self._states = {id: states[-1:] for id, states in self._states.items()}

    def get_newest(self, id: str) -> Row | None:
        """The newest state of an item."""
        with self._lock:
            return self._states.get(id, (None,))[-1]

    def copy_states(self) -> dict[str, tuple[Row | None, ...]]:
        """The possible states of each item, by id."""
        with self._lock:
            return dict(self._states)


@dataclass(frozen=True)
class ListTruth:
    """A list or search contains the items for which ``holds`` is true, each with its values.

    ``is_right``: whether an item as it is listed also has the values that nobody wrote.
    """

    holds: Callable[[Row], bool]
    is_right: Callable[[Row], bool] = lambda row: True

    def find_fault(
        self, rows: Iterable[Row], states: dict[str, tuple[Row | None, ...]]
    ) -> str | None:
        """What is wrong with an answer; None if it is possible."""
        listed = {row["id"]: row for row in rows}
        for id in sorted(states.keys() | listed.keys()):
            possible = states.get(id, (None,))
            memberships = {state is not None and self.holds(state) for state in possible}
            if (id in listed) not in memberships:
                return f"{id} is {'listed' if id in listed else 'missing'}, possible: {possible}"
            if id in listed and not any(
                state is not None and state.items() <= listed[id].items() for state in possible
            ):
                return f"{id} is {listed[id]}, possible: {possible}"
            if id in listed and not self.is_right(listed[id]):
                return f"{id} is wrong: {listed[id]}"
        return None


@dataclass(frozen=True)
class RankingTruth:
    """A ranking has a row for each value of ``group``: how many items, or the sum of ``field``."""

    group: str
    field: str | None = None

    def find_fault(
        self, rows: Iterable[Row], states: dict[str, tuple[Row | None, ...]]
    ) -> str | None:
        """What is wrong with an answer; None if it is possible."""
        ranked = list(rows)
        if any(self.group not in row for row in ranked):
            return f"not by {self.group}: {ranked}"
        measured = "count" if self.field is None else "total"
        totals = {row[self.group]: int(row[measured]) for row in ranked}
        if list(totals.values()) != sorted(totals.values(), reverse=True):
            return f"not in order: {totals}"
        groups = {
            state[self.group] for all in states.values() for state in all if state is not None
        }
        for group in sorted(groups | totals.keys()):
            possible = self._list_sums(group, states)
            if totals.get(group, 0) not in possible:
                return f"{group} is {totals.get(group)}, possible: {sorted(possible)[:20]}"
        return None

    def _list_sums(self, group: str, states: dict[str, tuple[Row | None, ...]]) -> set[int]:
        sums = {0}
        for possible in states.values():
            amounts = {self._measure(state, group) for state in possible}
            sums = {total + amount for total in sums for amount in amounts}
        return sums

    def _measure(self, row: Row | None, group: str) -> int:
        if row is None or row[self.group] != group:
            return 0
        return 1 if self.field is None else int(row[self.field])


Truth = ListTruth | RankingTruth
