"""Series: their periods, and what they are filled with."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daicho.errors import Invalid
from daicho.operations.series import (
    ALL_SERIES,
    DAY_S,
    KEPT_PERIODS,
    MAX_POINTS,
    PERIODS,
    StackMetrics,
    choose_period,
)

NOW = dt.datetime(2026, 11, 24, tzinfo=dt.UTC)
PRESENT = int(NOW.timestamp())
OLDEST = PRESENT - KEPT_PERIODS[-1][0] * DAY_S
METRICS = StackMetrics("Daicho", "dev", "t", {"project": "p", "archive": "a"}, "api", "machine")


@given(st.integers(OLDEST, PRESENT), st.integers(1, 455 * DAY_S))
def test_a_range_has_few_points_of_the_shortest_period_that_is_kept(
    begin: int, length: int
) -> None:
    end = min(begin + length, PRESENT + DAY_S)
    wanted = METRICS.build_range(ALL_SERIES[0], begin, end, NOW)
    points = wanted.fill({})
    assert 1 <= len(points) <= MAX_POINTS
    assert wanted.begin <= begin < end <= wanted.end
    assert all(at % wanted.period == 0 for at, _ in points)
    age = (PRESENT - begin) / DAY_S
    kept = min(period for days, period in KEPT_PERIODS if age <= days)
    shorter = [each for each in PERIODS if kept <= each < wanted.period]
    assert wanted.period >= kept
    assert all(-(-end // each) - begin // each > MAX_POINTS for each in shorter)


@pytest.mark.parametrize(
    ("begin", "end", "field"),
    [
        (PRESENT, PRESENT, "from"),
        (PRESENT, PRESENT - 1, "from"),
        (OLDEST - 1, PRESENT, "from"),
        (PRESENT, PRESENT + DAY_S + 1, "to"),
    ],
)
def test_other_ranges_are_refused(begin: int, end: int, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        METRICS.build_range(ALL_SERIES[0], begin, end, NOW)
    assert refused.value.field == field


def test_the_last_hours_have_minutes_and_the_last_year_days() -> None:
    assert choose_period(PRESENT - 3 * 3_600, PRESENT, PRESENT) == 60
    assert choose_period(PRESENT - 400 * DAY_S, PRESENT, PRESENT) == 86_400


def test_names_and_titles_are_different() -> None:
    for names in ({each.name for each in ALL_SERIES}, {each.title for each in ALL_SERIES}):
        assert len(names) == len(ALL_SERIES)
