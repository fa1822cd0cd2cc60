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
from daicho.stream.time_limit import TimeLimit, TooLongError, limit_time
from tests.support.endless_work import compute_for_ever


def test_a_machine_that_stands_still_makes_no_poison() -> None:
    assert limit_time(0.02, lambda: time.sleep(0.2)) is None


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


def test_each_call_has_its_own_time() -> None:
    with TimeLimit(0.3) as time_limit:
        for _ in range(3):  # together over the limit, each below it
            assert time_limit.call(compute_for_seconds, 0.12) == 1
        with pytest.raises(TooLongError):
            time_limit.call(compute_for_ever)
        assert time_limit.call(compute_for_seconds, 0.12) == 1


def test_the_time_between_two_calls_is_not_limited() -> None:
    with TimeLimit(0.02) as time_limit:
        assert time_limit.call(lambda: 1) == 1
        compute_for_seconds(0.06)
        assert time_limit.call(lambda: 2) == 2


def test_the_late_signal_of_one_call_does_not_end_the_next() -> None:
    def receive_late_signal() -> int:
        signal.raise_signal(signal.SIGPROF)
        return 1

    with TimeLimit(60) as time_limit:
        assert time_limit.call(receive_late_signal) == 1


def compute_for_seconds(seconds: float) -> int:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
    return 1
