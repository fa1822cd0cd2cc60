"""How long to go on, and what is done again."""

from __future__ import annotations

import pytest

from daicho.errors import RefusedError
from daicho.runtime.retry import RetryBudget, make_mapper, retry_all
from tests.support.invocation_time import Time


def retry_budget(left: list[float], slept: list[float]) -> RetryBudget:
    def sleep(seconds: float) -> None:
        slept.append(seconds)
        left[0] -= seconds

    return RetryBudget(lambda: left[0], reserve=10, sleep=sleep, random=lambda: 1.0)


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
