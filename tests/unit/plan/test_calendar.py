"""Time buckets: clocks that are set, weeks and quarters, and ranges that are covered exactly."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from typing import get_args
from zoneinfo import ZoneInfo

import pytest

from daicho.plan.calendar import Calendar, CalendarUnit, check_zone, parse_instant

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/Santiago",  # set at midnight
    "America/St_Johns",  # half hours; until 2011 set at one minute past midnight
    "Australia/Lord_Howe",  # set by half an hour
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Asia/Beirut",
    "Pacific/Apia",  # left out 30 December 2011
)
UTC = dt.UTC


def instant(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("unit", "at", "label"),
    [
        ("hour", "2026-10-25T00:30:00Z", "2026-10-25T00:00Z"),
        ("hour", "2026-10-25T01:30:00Z", "2026-10-25T01:00Z"),
        ("day", "2026-10-24T22:00:00Z", "2026-10-25"),
        ("week", "2026-10-24T22:00:00Z", "2026-10-19"),
        ("month", "2026-10-31T23:00:00Z", "2026-11"),
        ("quarter", "2026-12-31T22:59:59Z", "2026-Q4"),
        ("year", "2026-12-31T23:00:00Z", "2027"),
    ],
)
def test_labels_are_local_and_hours_are_in_utc(unit: CalendarUnit, at: str, label: str) -> None:
    assert Calendar(unit, "Europe/Berlin").render(instant(at)) == label


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("Europe/Berlin", "2026-03-29", 23),
        ("Europe/Berlin", "2026-10-25", 25),
        ("Europe/Berlin", "2026-11-24", 24),
        ("Australia/Lord_Howe", "2026-04-05", 24.5),
        ("Australia/Lord_Howe", "2026-10-04", 23.5),
        ("Pacific/Apia", "2011-12-30", 0),
    ],
)
def test_days_are_as_long_as_the_clock_makes_them(zone: str, day: str, hours: float) -> None:
    bucket = Calendar("day", zone).parse(day)
    assert bucket.end - bucket.start == dt.timedelta(hours=hours)


@pytest.mark.parametrize("first", range(7))
def test_a_week_begins_at_its_first_weekday(first: int) -> None:
    calendar = Calendar("week", "Europe/Berlin", first)
    for day in range(1, 29):
        bucket = calendar.find_bucket(dt.datetime(2026, 2, day, 12, tzinfo=UTC))
        begin = dt.date.fromisoformat(bucket.label)
        assert begin.weekday() == first
        assert 0 <= (dt.date(2026, 2, day) - begin).days < 7


@pytest.mark.parametrize(
    ("unit", "label"),
    [
        ("hour", "2026-10-25T00:30Z"),
        ("hour", "2026-10-25T00:00"),
        ("day", "2026-02-30"),
        ("week", "2026-11-24"),
        ("month", "2026-13"),
        ("quarter", "2026-Q5"),
        ("year", "26"),
        ("year", "0000"),
        ("day", "２０２６-11-24"),
    ],
)
def test_a_text_that_no_bucket_has_is_refused(unit: CalendarUnit, label: str) -> None:
    with pytest.raises(ValueError):  # also those of Python's own parsers
        Calendar(unit, "Europe/Berlin").parse(label)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("unit", get_args(CalendarUnit))
@pytest.mark.parametrize("begin", ["2011-12-28", "2010-11-06", "2026-03-27", "2026-10-23"])
def test_every_instant_is_in_its_bucket_and_labels_sort(
    zone: str, unit: CalendarUnit, begin: str
) -> None:
    """Each minute of four days, by the clock of the zone, which the calendar does not compute.

    Of units that none of these days has whole, each quarter of an hour.
    """
    calendar, place = Calendar(unit, zone), ZoneInfo(zone)
    at = instant(f"{begin}T00:00:00+00:00")
    minutes: dict[str, list[dt.datetime]] = defaultdict(list)
    step = 1 if unit in ("hour", "day") else 15
    for _ in range(0, 4 * 24 * 60, step):
        minutes[calendar.render(at)].append(at)
        at += dt.timedelta(minutes=step)
    labels = list(minutes)
    assert labels == sorted(labels)
    for label, members in minutes.items():
        bucket = calendar.parse(label)
        assert bucket.label == label
        assert all(bucket.start <= member < bucket.end for member in members)
        if unit == "day":
            assert {str(member.astimezone(place).date()) for member in members} == {label}
    for label in labels[1:-1]:  # whole ones
        bucket, members = calendar.parse(label), minutes[label]
        assert members[0] == bucket.start
        if bucket.is_whole:
            assert dt.timedelta(minutes=len(members)) == bucket.end - bucket.start
        else:
            assert dt.timedelta(minutes=len(members)) < bucket.end - bucket.start


def test_a_day_that_was_left_out_is_in_no_series() -> None:
    calendar = Calendar("day", "Pacific/Apia")
    since, until = instant("2011-12-29T00:00:00Z"), instant("2012-01-02T00:00:00Z")
    labels = [bucket.label for bucket in calendar.list_buckets(since, until)]
    assert labels == ["2011-12-28", "2011-12-29", "2011-12-31", "2012-01-01", "2012-01-02"]


@pytest.mark.parametrize("name", ["Europe/Atlantis", "", "../tzdata", "/etc/localtime", "Europe"])
def test_a_zone_that_the_database_lacks_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no time zone"):
        check_zone(name)


@pytest.mark.parametrize(
    ("zone", "text", "expected"),
    [
        ("Europe/Berlin", "2026-11-21", "2026-11-20T23:00:00"),
        ("Europe/Berlin", "2026-11-21T09:00", "2026-11-21T08:00:00"),
        ("Europe/Berlin", "2026-11-21T09:00Z", "2026-11-21T09:00:00"),
        ("UTC", "2026-11-21T09:00+05:30", "2026-11-21T03:30:00"),
        ("America/Santiago", "2026-09-06", "2026-09-06T04:00:00"),  # it has no midnight
    ],
)
def test_a_text_is_an_instant(zone: str, text: str, expected: str) -> None:
    assert parse_instant(zone, text) == instant(f"{expected}+00:00")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2026-03-29T02:30", "does not exist in Europe/Berlin"),
        ("2026-10-25T02:30", "occurs twice in Europe/Berlin"),
        ("2026-02-30", "is no day"),
        ("soon", "no day, and no time"),
        ("2026-13-01T00:00", "no day, and no time"),
    ],
)
def test_a_text_that_is_no_instant_is_explained(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_instant("Europe/Berlin", text)
