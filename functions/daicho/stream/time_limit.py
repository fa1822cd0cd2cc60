"""A deadline for pure code: past it a record is one that cannot be computed (rule 2).

It limits the processor's time, not the clock's. Code that computes for ever uses it up, and a
machine that pauses for a second, or shares its processor with others, makes no poison.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import ParamSpec, Self, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class TooLongError(Exception):
    """Computing took longer than it may."""


class TimeLimit:
    """Gives each call its own ``seconds`` of the time that the process computes, in all threads.

    A context: its timer is prepared once, since that takes longer than a short call. Timers reach
    the main thread only, in which Lambda runs handlers; in other threads there is no deadline.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._alarm = _Alarm()
        self._is_enforced = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> Self:
        if self._is_enforced:
            self._before = signal.signal(signal.SIGPROF, self._alarm)
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self._is_enforced:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, self._before)

    def call(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of ``work``, or raise TooLongError when the time is up: never both.

        A timer enforces it, because code that hangs does not check a clock. The timer may go off
        between any two steps, also when the work has just ended; then its result is lost, and the
        caller gets no part of it. Between two calls the timer is silent.
        """
        if not self._is_enforced:
            return work(*args, **kwargs)
        try:
            # The timer of the call before is replaced while it is silent.
            signal.setitimer(signal.ITIMER_PROF, self._seconds)
            self._alarm.silent = False
            return work(*args, **kwargs)
        finally:
            self._alarm.silent = True


def limit_time(seconds: float, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """One call under a `TimeLimit`; the other arguments are those of ``work``."""
    with TimeLimit(seconds) as time_limit:
        return time_limit.call(work, *args, **kwargs)


class _Alarm:
    """Raises in the main thread, unless it is silent."""

    def __init__(self) -> None:
        self.silent = True

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        # A timer that runs was started since: this signal is that of the call before.
        if not self.silent and not signal.getitimer(signal.ITIMER_PROF)[0]:
            self.silent = True
            raise TooLongError
