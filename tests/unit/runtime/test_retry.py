"""How long to go on, and what is done again."""

from __future__ import annotations

from threading import Barrier

import pytest

from daicho.errors import RefusedError
from daicho.runtime.retry import MAX_PAUSE_S, RetryBudget, make_mapper, retry_all
from tests.support.invocation_time import Time


def retry_budget(left: list[float], slept: list[float]) -> RetryBudget:
    def sleep(seconds: float) -> None:
        slept.append(seconds)
        left[0] -= seconds

    return RetryBudget(lambda: left[0], reserve=10, sleep=sleep, random=lambda: 1.0)


def test_pauses_grow_to_a_limit_and_end_at_the_reserve() -> None:
    left, slept = [40.0], list[float]()
    attempts = list(retry_budget(left, slept).count_attempts())
    assert attempts == list(range(1, len(slept) + 2))
    assert slept[:3] == [0.05, 0.1, 0.2]
    assert max(slept) == MAX_PAUSE_S
    assert left[0] == 10


def test_one_attempt_there_is_always() -> None:
    assert list(retry_budget([1.0], []).count_attempts()) == [1]


def test_sleeping_out_leaves_the_reserve() -> None:
    left = [300.0]
    retry_budget(left, []).sleep_until_deadline()
    assert left == [10]


def test_seconds_run_out() -> None:
    assert RetryBudget.for_seconds(10).has_time_left
    assert not RetryBudget.for_seconds(0).has_time_left


def test_a_bug_is_raised_and_not_retried() -> None:
    attempts: list[int] = []

    def refused(_: int) -> None:
        attempts.append(1)
        raise RefusedError("never")

    with pytest.raises(RefusedError):
        retry_all([1], refused, Time().retry_budget, make_mapper(2))
    assert len(attempts) == 1


def test_threads_return_results_in_order_and_raise_the_first_error() -> None:
    map_all = make_mapper(3)
    assert list(map_all(str, range(50))) == [str(number) for number in range(50)]
    assert list(map_all(str, [])) == []
    done: list[int] = []

    def divide(number: int) -> float:
        done.append(number)
        return 1 / (number - 4) if number < 9 else 1 / (number - 9)

    with pytest.raises(ZeroDivisionError):
        map_all(divide, range(20))
    assert sorted(done) == list(range(20))


def test_threads_work_at_once() -> None:
    both = Barrier(2, timeout=10)
    assert sorted(make_mapper(2)(lambda _: both.wait(), range(2))) == [0, 1]
