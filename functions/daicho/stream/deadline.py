"""A deadline for pure code: past it a record is one that cannot be computed (rule 2)."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TooLongError(Exception):
    """Computing took longer than it may."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise TooLongError inside the block when the time is up.

    By a timer, because the code that hangs will not look at a clock. Timers reach the main
    thread only, which is where Lambda runs handlers; elsewhere there is no deadline.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _raise)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)


def _raise(_number: int, _frame: FrameType | None) -> None:
    raise TooLongError
