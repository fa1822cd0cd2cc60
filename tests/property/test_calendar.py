"""Time buckets of all zones, at times of all years of the calendar.

Broken on purpose before it was trusted; each of these is found: the seconds of an offset left out
of an hour's beginning; an hour that always ends after 60 minutes; the label of an hour that is cut
by a clock set forward not raised; a bucket of the year 9999 given Python's own refusal; one bucket
less counted.
"""

from __future__ import annotations

import datetime as dt
from importlib import resources
from itertools import pairwise
from typing import get_args
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from daicho.plan.calendar import Calendar, CalendarEdgeError, CalendarUnit, parse_instant
from daicho.plan.figures.series import cover_range
from daicho.plan.parts import Part

UTC = dt.UTC
ZONE_NAMES = tuple(resources.files("tzdata").joinpath("zones").read_text().split())
UNITS: tuple[CalendarUnit, ...] = get_args(CalendarUnit)
LIMIT = "years 1 to 9999"
INNER = (dt.datetime(2, 1, 10, tzinfo=UTC), dt.datetime(9998, 1, 1, tzinfo=UTC))
"""Between these no bucket is at the edge of the calendar."""
CALENDARS = st.builds(
    Calendar, st.sampled_from(UNITS), st.sampled_from(ZONE_NAMES), st.integers(0, 6)
)
FIRST, LAST = dt.datetime.min.replace(tzinfo=UTC), dt.datetime.max.replace(tzinfo=UTC)


def draw_times(since: dt.datetime, until: dt.datetime) -> st.SearchStrategy[dt.datetime]:
    """Instants from ``since`` to ``until``."""
    seconds = st.floats(0, (until - since).total_seconds())
    return seconds.map(lambda after: since + dt.timedelta(seconds=after))


TIMES = st.one_of(
    st.datetimes(timezones=st.just(UTC)),
    draw_times(dt.datetime(1840, 1, 1, tzinfo=UTC), dt.datetime(1990, 1, 1, tzinfo=UTC)),
    draw_times(FIRST, FIRST + dt.timedelta(days=2)),
    draw_times(LAST - dt.timedelta(days=2), LAST),
)
JAPAN = dt.datetime(1887, 12, 31, 14, 41, tzinfo=UTC)
ATHENS = dt.datetime(1916, 7, 27, 22, 25, 30, tzinfo=UTC)


@settings(max_examples=250, deadline=None)
@given(CALENDARS, TIMES)
@example(Calendar("hour", "Asia/Tokyo"), JAPAN)
@example(Calendar("hour", "Europe/Athens"), ATHENS)
@example(Calendar("month"), dt.datetime(9999, 12, 31, tzinfo=UTC))
@example(Calendar("week", first_weekday=6), dt.datetime(1, 1, 1, tzinfo=UTC))
def test_a_time_is_in_its_bucket_or_at_the_edge(calendar: Calendar, at: dt.datetime) -> None:
    try:
        bucket = calendar.find_bucket(at)
    except CalendarEdgeError as error:
        assert LIMIT in str(error)
        assert not INNER[0] <= at <= INNER[1]
        return
    assert bucket.start <= at < bucket.end
    assert calendar.render(bucket.start) == bucket.label
    assert calendar.render(bucket.end - dt.timedelta(seconds=1)) == bucket.label
    if INNER[0] <= at <= INNER[1]:
        following = calendar.find_following(bucket)
        assert following.label > bucket.label
        assert following.end > bucket.end or following.start == following.end
        assert following.start <= bucket.end


@settings(max_examples=200, deadline=None)
@given(CALENDARS, TIMES, st.integers(1, 60))
@example(Calendar("hour", "Asia/Tokyo"), JAPAN, 48)
def test_buckets_are_counted_as_they_are_listed(
    calendar: Calendar, since: dt.datetime, steps: int
) -> None:
    if not INNER[0] <= since <= INNER[1] - dt.timedelta(days=400 * steps):
        return
    until = since
    for _ in range(steps):
        until = calendar.find_bucket(until).end
    buckets = list(calendar.list_buckets(since, until))
    labels = [bucket.label for bucket in buckets]
    assert labels == sorted(set(labels))
    # A day that was left out is counted; hours are cut where a clock is set by a part of an hour.
    assert abs(len(buckets) - calendar.count_buckets(since, until)) <= 1
    if calendar.unit != "hour" and INNER[0].year + 1 < since.year:
        assert calendar.count_buckets(since, until) >= len(buckets)


@pytest.mark.lengthy
@pytest.mark.parametrize("year", [2, 1887, 1916])
def test_the_hours_of_a_day_end_at_any_offset(year: int) -> None:
    since = dt.datetime(year, 7, 27, 12, tzinfo=UTC)
    until = since + dt.timedelta(days=1)
    hours = [since + dt.timedelta(hours=number - 2) for number in range(30)]
    # Zones whose clocks show the same in these hours are one; of local mean times, a hundred do.
    different = {
        tuple(hour.astimezone(ZoneInfo(zone)).utcoffset() for hour in hours): zone
        for zone in ZONE_NAMES
    }
    for zone in list(different.values())[:: 1 + len(different) // 100]:
        part = Part("at", "hour", zone=zone)
        calendar = Calendar("hour", zone)
        first, last = calendar.find_bucket(since), calendar.find_bucket(until)
        buckets = list(calendar.list_buckets(since, until))
        assert 24 <= len(buckets) <= 26, zone
        edges = [(one.end, other.start) for one, other in pairwise(buckets)]
        assert all(end == start for end, start in edges), zone
        assert len(list(cover_range(part, first.start, last.start))) <= len(buckets)


@given(
    st.sampled_from(ZONE_NAMES),
    st.one_of(st.datetimes().map(str), st.dates().map(str), st.text(max_size=12)),
    st.sampled_from(["", "Z", "+14:00", "-12:00", "+00:00:30"]),
)
@example("Asia/Tokyo", "0001-01-01", "")
@example("America/New_York", "9999-12-31T23:00", "")
@example("UTC", "9999-12-31T23:00", "-12:00")
def test_a_bound_is_an_instant_or_refused_in_words(zone: str, text: str, offset: str) -> None:
    try:
        assert parse_instant(zone, text + offset).utcoffset() == dt.timedelta()
    except ValueError as error:
        words = ("is no day", "occurs twice", "does not exist", LIMIT)
        assert any(each in str(error) for each in words)
