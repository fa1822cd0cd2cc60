"""Stores of a process that ends after some operations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class Killed(BaseException):
    """The process is gone."""


@dataclass
class Life:
    """How many more operations a process lives for; None: for ever."""

    left: int | None = None

    def take(self, operation: Callable[[], Any]) -> Any:
        if self.left is None:
            return operation()
        self.left -= 1
        if self.left == 0:
            raise Killed
        if self.left < 0:
            operation()
            raise Killed
        return operation()


class Mortal:
    """A store whose calls are operations of a life: all of them, or those of ``counted`` names."""

    def __init__(self, store: Any, life: Life, *counted: str) -> None:
        self._store, self._life, self._counted = store, life, counted

    def for_tenant(self, *given: Any) -> Mortal:
        return Mortal(self._store.for_tenant(*given), self._life, *self._counted)

    def with_bounds(self, *given: Any) -> Mortal:
        return Mortal(self._store.with_bounds(*given), self._life, *self._counted)

    def with_metering(self) -> Mortal:
        return Mortal(self._store.with_metering(), self._life)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not callable(found) or (self._counted and name not in self._counted):
            return found
        return lambda *given, **named: self._life.take(lambda: found(*given, **named))
