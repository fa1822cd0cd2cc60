"""A function that fails on purpose: its results must be exact all the same.

A share of its calls to the stores fails before or after the call was carried out, as if the request
or the answer had been lost. In the same share of its invocations the process ends between two
calls, while its other threads may be in the middle of theirs.
"""

from __future__ import annotations

import logging
import math
import os
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar, cast

from daicho.errors import SettingsError, UnavailableError
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.handlers.wiring.invocation import Context, Handler

MAX_CALLS_BEFORE_END = 60
NEVER = math.inf
_log = logging.getLogger(__name__)
T = TypeVar("T")


def parse_share(environ: Mapping[str, str]) -> float:
    """The share in ``FAULTS``, above 0 and below 1; 0 if the variable is not set.

    Raises:
        SettingsError: it is something else.
    """
    text = environ.get("FAULTS")
    try:
        share = float(text) if text else 0.0
    except ValueError:
        share = math.nan
    if not 0 < share < 1 and text:
        raise SettingsError(f"FAULTS is {text!r}, not a number between 0 and 1")
    return share


class Faults:
    """Random faults. ``end`` ends the process and does not return."""

    def __init__(
        self,
        share: float,
        *,
        chance: random.Random | None = None,
        end: Callable[[int], object] = os._exit,
    ) -> None:
        self._share = share
        self._chance = chance or random.Random()  # noqa: S311 - no secret depends on it
        self._end = end
        self._calls_left: float = NEVER

    def wrap_dependencies(self, dependencies: Dependencies) -> Dependencies:
        """The same stores; some of their calls fail."""
        return replace(
            dependencies,
            table=lambda *given, **named: self._wrap_client(dependencies.table(*given, **named)),
            bucket=lambda *given, **named: self._wrap_client(dependencies.bucket(*given, **named)),
        )

    def end_at_random(self, handler: Handler) -> Handler:
        """The same handler; some of its invocations do not finish."""

        def wrapped(event: Mapping[str, Any], context: Context) -> dict[str, Any]:
            dies = self._chance.random() < self._share
            self._calls_left = self._chance.randrange(MAX_CALLS_BEFORE_END) if dies else NEVER
            answered = handler(event, context)
            if self._calls_left != NEVER:
                self._end_process()  # all is done, but the answer is lost
            return answered

        return wrapped

    def _wrap_client(self, store: T) -> T:
        return cast(T, _Failing(store, self))

    def call_with_faults(self, doing: str, carry_out: Callable[[], Any]) -> Any:
        """Carry a call out, or lose the request, or lose its answer."""
        if self._calls_left <= 0:
            self._end_process()
        self._calls_left -= 1  # not atomic: after a race of threads the process ends a little later
        fails, is_lost = self._chance.random() < self._share, self._chance.random() < 1 / 2
        if fails and is_lost:
            raise UnavailableError(f"{doing}: the request is lost on purpose")
        answer = carry_out()
        if fails:
            raise UnavailableError(f"{doing}: the answer is lost on purpose")
        return answer

    def _end_process(self) -> None:
        _log.error("the process ends on purpose")
        self._end(1)


class _Failing:
    """A store whose calls go through `Faults.call_with_faults`."""

    def __init__(self, store: Any, faults: Faults) -> None:
        self._store = store
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        if name == "_store":  # a copy is made without `__init__`, and asked for its hooks
            raise AttributeError(name)
        method = getattr(self._store, name)
        if not callable(method):
            return method

        @wraps(method)
        def called(*given: Any, **named: Any) -> Any:
            return self._faults.call_with_faults(name, lambda: method(*given, **named))

        return called
