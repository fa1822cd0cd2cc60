"""The speed of a rebuild, and the time that is left of a pass."""

from __future__ import annotations

import datetime as dt

import pytest

from daicho.rebuild.job import RebuildJob, SpeedMeter

BEGIN = dt.datetime(2026, 11, 23, tzinfo=dt.UTC)


class Clock:
    def __init__(self) -> None:
        self.now = BEGIN

    def add_second(self, job: RebuildJob, items: int, units: float) -> None:
        self.now += dt.timedelta(seconds=1)
        job.seen += items
        job.add_counts(write_units=units)


def build_job(**values: object) -> RebuildJob:
    return RebuildJob("one", {"User": 2}, "2026-11-23T10:00:00.000000Z", **values)  # type: ignore[arg-type]


def test_speeds_are_those_of_the_last_half_minute() -> None:
    clock, job = Clock(), build_job(total=10_000)
    meter = SpeedMeter(lambda: clock.now)
    meter.begin(job)
    meter.measure(job)
    assert (job.items_per_second, job.seconds_left) == (0, None)
    for _ in range(60):
        clock.add_second(job, 100, 50)
        meter.measure(job)
    assert (job.items_per_second, job.units_per_second) == (100, 50)
    assert job.seconds_left in (40, 41)
    for _ in range(30):
        clock.add_second(job, 10, 20)
        meter.measure(job)
    assert job.items_per_second == pytest.approx(10)
    assert job.units_per_second == pytest.approx(20)
    assert job.seconds_left in (370, 371)


def test_segments_show_the_progress_while_the_size_is_unknown() -> None:
    job = build_job(seen=500, items_per_second=50.0)
    assert (job.share, job.percent, job.seconds_left) == (0, 0, None)
    job.segments = {"total": 8, "starts": {"6": None, "7": None}}
    assert (job.share, job.percent) == (0.75, 75)
    assert job.seconds_left == 4
    job.phase = "prove"
    assert job.seconds_left is None
