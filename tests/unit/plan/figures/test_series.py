"""The places of the buckets of a series, and the stored buckets that cover a range."""

from __future__ import annotations

import datetime as dt
import random
from typing import get_args

import pytest

from daicho.plan import Part
from daicho.plan.calendar import CalendarUnit
from daicho.plan.figures.series import (
    CHUNK_BUCKETS,
    StoredBucket,
    cover_range,
    get_calendar,
    get_chunk_unit,
    locate_bucket,
)

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/Santiago",  # set at midnight
    "America/St_Johns",  # half hours; until 2011 set at one minute past midnight
    "Australia/Lord_Howe",  # set by half an hour
    "Asia/Kathmandu",
    "Pacific/Apia",  # left out 30 December 2011
)
UNITS: tuple[CalendarUnit, ...] = get_args(CalendarUnit)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("unit", UNITS)
def test_no_two_buckets_share_a_place_and_chunks_are_bounded(unit: CalendarUnit, zone: str) -> None:
    part = Part("at", unit, zone=zone)
    since = dt.datetime(2011, 10, 1, tzinfo=dt.UTC)
    years = {"hour": 0.3, "day": 6}.get(unit, 30)
    calendar = get_calendar(part)
    labels = [
        bucket.label
        for bucket in calendar.list_buckets(since, since + dt.timedelta(days=365 * years))
    ]
    places = [locate_bucket(part, label) for label in labels]
    assert len(set(places)) == len(labels)
    chunks = [place.chunk for place in places]
    assert max(map(chunks.count, set(chunks))) <= CHUNK_BUCKETS[unit]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("unit", UNITS)
def test_a_range_is_covered_once_and_coarsely(unit: CalendarUnit, zone: str) -> None:
    part, chance = Part("at", unit, zone=zone), random.Random(f"{unit}{zone}")
    calendar, days = get_calendar(part), {"hour": 20, "day": 400}.get(unit, 5_000)
    for _ in range(5):
        since = calendar.find_bucket(
            dt.datetime(2009, 1, 1, tzinfo=dt.UTC) + dt.timedelta(hours=chance.randrange(26_000))
        ).start
        until = calendar.find_bucket(since + dt.timedelta(days=chance.randrange(1, days))).start
        expected = [
            locate_bucket(part, bucket.label)
            for bucket in calendar.list_buckets(since, until)
            if bucket.start >= since and bucket.label < calendar.render(until)
        ]
        covered = list(cover_range(part, since, until))
        inner = {place.chunk for place in expected}
        assert {stored.chunk for stored in covered} == inner
        for stored in covered:
            if stored.code is None:  # a whole chunk: all its buckets are expected
                unit_of_chunk = get_chunk_unit(part)
                assert unit_of_chunk is not None
                whole = get_calendar(part, unit_of_chunk).parse(stored.chunk)
                own = list(calendar.list_buckets(whole.start, whole.end))
                assert {locate_bucket(part, each.label) for each in own} <= set(expected)
                expected = [each for each in expected if each.chunk != stored.chunk]
        rest = [StoredBucket(place.chunk, place.code) for place in expected]
        assert [stored for stored in covered if stored.code is not None] == rest


def test_a_whole_year_of_days_is_twelve_chunks() -> None:
    part = Part("at", "day", zone="Europe/Berlin")
    since = dt.datetime.fromisoformat("2026-01-01T00:00+01:00")
    until = dt.datetime.fromisoformat("2027-01-01T00:00+01:00")
    covered = list(cover_range(part, since, until))
    assert covered == [StoredBucket(f"2026-{month:02}", None) for month in range(1, 13)]
