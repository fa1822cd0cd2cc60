"""How the buckets of a series are stored: several of them in one tally, its chunk. Pure.

The group of a chunk has the chunk's label as its last component. The amount of one bucket is parts
of the chunk's amount, whose names begin with the code of the bucket. So a year by day is twelve
totals, and a chunk without its buckets is a bucket of a coarser unit, except for weeks.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from daicho.plan.calendar import Calendar, CalendarUnit, find_calendar
from daicho.plan.parts import Part

CODE_END = ":"
"""Ends the code of a bucket in the name of a part."""

# The unit of the chunks, and the place in a bucket's label at which its code begins.
_CHUNKS: Mapping[CalendarUnit, tuple[CalendarUnit, int]] = {
    "hour": ("day", len("2026-11-")),
    "day": ("month", len("2026-11-")),
    "week": ("year", len("2026-")),
    "month": ("year", len("2026-")),
    "quarter": ("year", len("2026-")),
    "year": ("year", len("")),
}
CHUNK_NAMES: Mapping[CalendarUnit, str] = {unit: chunk for unit, (chunk, _) in _CHUNKS.items()}
CHUNK_BUCKETS: Mapping[CalendarUnit, int] = {
    "hour": 25,
    "day": 31,
    "week": 53,
    "month": 12,
    "quarter": 4,
    "year": 1,
}
"""The most buckets of a chunk."""
DIVISIBLE_UNITS: Mapping[CalendarUnit, tuple[CalendarUnit, ...]] = {
    "hour": ("hour", "day", "week", "month", "quarter", "year"),
    "day": ("day", "week", "month", "quarter", "year"),
    "week": ("week",),
    "month": ("month", "quarter", "year"),
    "quarter": ("quarter", "year"),
    "year": ("year",),
}
"""The steps of a series: the units that consist of whole buckets of the stored unit."""


class BucketPlace(NamedTuple):
    """Where a bucket is stored: the label of its chunk, and its code there."""

    chunk: str
    code: str


def get_calendar(part: Part, unit: CalendarUnit | None = None) -> Calendar:
    """The calendar of a series, or that of another unit in its zone."""
    stored = part.bucket or "day"  # a series always has one
    return find_calendar(unit or stored, part.zone, part.first_weekday)


def locate_bucket(part: Part, label: str) -> BucketPlace:
    """The place of a bucket of a series."""
    calendar = get_calendar(part)
    coarser, begin = _CHUNKS[calendar.unit]
    if calendar.unit == "hour":  # its label is in UTC, and days are local
        chunk = get_calendar(part, coarser).render_text(label)
    elif calendar.unit == "week":
        chunk = label[:4]
    else:
        chunk = find_calendar(coarser).render_day(calendar.parse_first_day(label))
    return BucketPlace(chunk, label[begin:].removesuffix("Z"))


def get_chunk_name(part: Part) -> str:
    """The unit of the chunks, for messages."""
    return CHUNK_NAMES[get_calendar(part).unit]


def get_chunk_unit(part: Part) -> CalendarUnit | None:
    """The unit of which a whole chunk is a bucket; None if chunks are no buckets of another unit.

    A week that begins in December may have days of two years.
    """
    unit = get_calendar(part).unit
    return None if unit in ("week", "year") else _CHUNKS[unit][0]


def check_bucket(part: Part, text: str, *, is_series: bool) -> None:
    """Check that the calendar has the whole bucket of an instant or a day, and that of its chunk.

    Raises:
        CalendarEdgeError: it does not.
    """
    label = get_calendar(part).render_text(text)
    get_calendar(part).parse(label)
    coarser = get_chunk_unit(part) if is_series else None
    if coarser is not None:
        get_calendar(part, coarser).parse(locate_bucket(part, label).chunk)


class StoredBucket(NamedTuple):
    """What covers a part of a range: a bucket, or a whole chunk if there is no ``code``."""

    chunk: str
    code: str | None


def cover_range(part: Part, since: dt.datetime, until: dt.datetime) -> Iterator[StoredBucket]:
    """The coarsest stored buckets that cover a range once, in order.

    ``since`` and ``until`` are edges of buckets of the series.
    """
    calendar, coarser = get_calendar(part), get_chunk_unit(part)
    last = calendar.render(until)  # labels sort by time
    label = calendar.render(since)
    while label < last:
        chunk, code = locate_bucket(part, label)
        bucket = calendar.parse(label)
        if coarser is not None:
            whole = get_calendar(part, coarser).parse(chunk)
            following = calendar.render(whole.end)
            if whole.is_whole and calendar.render(whole.start) == label and following <= last:
                yield StoredBucket(chunk, None)
                label = following
                continue
        if bucket.start < bucket.end:
            yield StoredBucket(chunk, code)
        label = calendar.find_following(bucket).label
