"""Stores of a process that ends, or that something else is done beside, at one of its requests."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeVar

S = TypeVar("S")


class Killed(BaseException):
    """The process is gone."""


def kill() -> None:
    """End the process."""
    raise Killed


@dataclass
class Turns:
    """Counts the requests of a process, and does something before or after one of them."""

    at: int | None = None
    do: Callable[[], None] = kill
    after: bool = False
    count: int = 0

    def take(self, request: Callable[[], Any]) -> Any:
        self.count += 1
        if self.count == self.at and not self.after:
            self.do()
        last = self.count == self.at and self.after
        try:
            return request()
        finally:
            if last:
                self.do()


class Turned:
    """A client whose requests are turns: all of them, or those of ``counted`` methods."""

    def __init__(self, real: Any, turns: Turns, *counted: str) -> None:
        self._real, self._turns, self._counted = real, turns, counted

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # a copy is made without `__init__`
            raise AttributeError(name)
        call = getattr(self._real, name)
        if not callable(call) or (self._counted and name not in self._counted):
            return call
        return lambda **request: self._turns.take(lambda: call(**request))


def let_end(store: S, turns: Turns, *counted: str) -> S:
    """A table or a bucket whose requests are turns."""
    mortal: Any = copy(store)
    mortal._client = mortal._unguarded = Turned(mortal._client, turns, *counted)
    return mortal  # type: ignore[no-any-return]
