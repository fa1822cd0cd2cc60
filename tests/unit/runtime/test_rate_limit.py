"""A rate that throttling lowers, and that rises again slowly."""

from __future__ import annotations

import pytest

from daicho.runtime.rate_limit import LOWEST_SHARE, RateLimiter


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def limit(self, rate: float | None, effective: float | None = None) -> RateLimiter:
        return RateLimiter(rate, lambda: self.now, self.sleep, effective)


def test_items_pass_at_the_rate() -> None:
    time = Time()
    pace = time.limit(100)
    for _ in range(11):
        pace.wait(50)
    assert time.now == pytest.approx(5)


def test_without_a_rate_nothing_waits() -> None:
    time = Time()
    pace = time.limit(None)
    pace.slow_down()
    pace.wait(1e9)
    assert (time.now, pace.effective) == (0, None)


def test_a_throttled_request_halves_the_rate_once_a_second() -> None:
    time = Time()
    pace = time.limit(400)
    for _ in range(4):  # threads that are throttled at once
        pace.slow_down()
    assert pace.effective == 200
    time.now = 1.0
    pace.slow_down()
    assert pace.effective == pytest.approx((200 + 8) / 2)


def test_the_rate_rises_slowly_up_to_the_asked_one() -> None:
    time = Time()
    pace = time.limit(400)
    pace.slow_down()
    rates: list[float] = []
    for _ in range(40):
        time.now += 1
        pace.wait(0)
        rates.append(pace.effective or 0)
    assert rates[0] == pytest.approx(208)
    assert rates == sorted(rates)
    assert rates[-1] == 400


def test_the_rate_never_falls_to_nothing() -> None:
    time = Time()
    pace = time.limit(640)
    for _ in range(60):
        time.now += 1
        pace.slow_down()
    assert pace.effective is not None
    assert pace.effective >= 640 * LOWEST_SHARE


def test_a_limiter_continues_at_the_rate_of_an_earlier_one() -> None:
    assert Time().limit(500, 125).effective == 125
    assert Time().limit(500, 900).effective == 500
    assert Time().limit(None, 900).effective is None
