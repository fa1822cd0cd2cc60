"""How long to go on, and what is done again."""

from __future__ import annotations

import pytest

from daicho.errors import RefusedError
from daicho.runtime.retry import LONGEST_PAUSE, Patience, carry_out, mapper
from tests.support.invocation_time import Time


def patience(left: list[float], slept: list[float]) -> Patience:
    def sleep(seconds: float) -> None:
        slept.append(seconds)
        left[0] -= seconds

    return Patience(lambda: left[0], reserve=10, sleep=sleep, random=lambda: 1.0)


def test_pauses_grow_to_a_limit_and_end_at_the_reserve() -> None:
    left, slept = [40.0], list[float]()
    attempts = list(patience(left, slept).attempts())
    assert attempts == list(range(1, len(slept) + 2))
    assert slept[:3] == [0.05, 0.1, 0.2]
    assert max(slept) == LONGEST_PAUSE
    assert left[0] == 10


def test_one_attempt_there_is_always() -> None:
    assert list(patience([1.0], []).attempts()) == [1]


def test_sleeping_out_leaves_the_reserve() -> None:
    left = [300.0]
    patience(left, []).sleep_out()
    assert left == [10]


def test_seconds_run_out() -> None:
    assert Patience.seconds(10).lasts
    assert not Patience.seconds(0).lasts


def test_a_bug_is_raised_and_not_retried() -> None:
    attempts: list[int] = []

    def refused(_: int) -> None:
        attempts.append(1)
        raise RefusedError("never")

    with pytest.raises(RefusedError):
        carry_out([1], refused, Time().patience, mapper(2))
    assert len(attempts) == 1
