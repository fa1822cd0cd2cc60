"""The time limit of work: it ends what takes too long, and leaves nothing behind."""

from __future__ import annotations

import signal
import sys
import threading
import time
from types import FrameType
from typing import Any

import pytest

from daicho.stream import time_limit
from daicho.stream.time_limit import TooLongError, limit_time
from tests.support.endless_work import compute_for_ever


def test_a_deadline_leaves_no_timer_behind() -> None:
    with pytest.raises(TooLongError):
        limit_time(0.01, compute_for_ever)
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
    assert limit_time(5, lambda: 1) == 1
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_when_the_time_is_up_as_the_work_ends_there_is_a_result_or_an_error_but_not_both() -> None:
    """The timer goes off after each step in turn, the last ones after the work."""
    results: list[int] = []
    errors: list[int] = []
    before = signal.getsignal(signal.SIGPROF)

    def ring_at(step: int) -> None:
        passed = 0

        def trace(_frame: FrameType, _event: str, _argument: object) -> Any:
            nonlocal passed
            if _frame.f_code.co_filename != time_limit.__file__:
                return None
            _frame.f_trace_opcodes = True
            passed += signal.getitimer(signal.ITIMER_PROF)[0] > 0
            if passed == step:
                signal.setitimer(signal.ITIMER_PROF, 0)
                signal.raise_signal(signal.SIGPROF)
            return trace

        traced = sys.gettrace()
        sys.settrace(trace)
        try:
            results.append(limit_time(60, lambda: step))
        except TooLongError:
            errors.append(step)
        finally:
            sys.settrace(traced)

    signal.signal(signal.SIGPROF, signal.SIG_IGN)
    try:
        for step in range(1, 80):
            ring_at(step)
            assert len(results) + len(errors) == step
            assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
            assert signal.getsignal(signal.SIGPROF) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGPROF, before)
    assert errors
    assert results


def test_other_threads_have_no_deadline() -> None:
    passed: list[int] = []

    def work() -> int:
        time.sleep(0.01)
        return 1

    thread = threading.Thread(target=lambda: passed.append(limit_time(0.001, work)))
    thread.start()
    thread.join()
    assert passed == [1]
