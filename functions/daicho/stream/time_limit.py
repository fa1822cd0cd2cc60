"""A deadline for pure code: past it a record is one that cannot be computed (rule 2).

It limits the processor's time, not the clock's. Code that computes for ever uses it up, and a
machine that pauses for a second, or shares its processor with others, makes no poison.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class TooLongError(Exception):
    """Computing took longer than it may."""


def limit_time(seconds: float, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of ``work``, or raise TooLongError when the time is up: never both.

    ``seconds`` are those that the process computes, in all its threads together. The other
    arguments are those of ``work``.

    A timer enforces it, because code that hangs does not check a clock. The timer may go off
    between any two steps, also when the work has just ended; then its result is lost, and the
    caller gets no part of it. After that, and after anything else that ends the work, the timer
    is silent. Timers reach the main thread only, in which Lambda runs handlers; in other threads
    there is no deadline.
    """
    if threading.current_thread() is not threading.main_thread():
        return work(*args, **kwargs)
    alarm = _Alarm()
    before = signal.signal(signal.SIGPROF, alarm)
    try:
        try:
            signal.setitimer(signal.ITIMER_PROF, seconds)
            return work(*args, **kwargs)
        finally:
            alarm.silent = True
    finally:
        # Reached for certain, also where the alarm went off in the line above: it does so once.
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class _Alarm:
    """Raises in the main thread, unless it is silent."""

    def __init__(self) -> None:
        self.silent = False

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        if not self.silent:
            self.silent = True
            raise TooLongError
