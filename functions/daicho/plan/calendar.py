"""Time buckets in a time zone: hours, days, weeks, months, quarters and years. Pure.

A bucket has a label, which is a component of a key, so labels sort by time. An hour's label is its
beginning in UTC, because a local hour may occur twice: ``2026-10-25T00:00Z``. It has no seconds,
which offsets from UTC have before standard time. The labels of other buckets are local:
``2026-11-21`` for a day and for the week that begins with it, ``2026-11``, ``2026-Q4``, ``2026``.
A day may have 23 or 25 hours, and a day that a zone left out has none.

The calendar has the years 1 to 9999 of UTC. A bucket that begins or ends beyond them is refused.

Rules of time zones are those of the package tzdata, in the version that is deployed.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Literal

from daicho.runtime.frozen_dataclasses import dataclass

CalendarUnit = Literal["hour", "day", "week", "month", "quarter", "year"]
HOUR = dt.timedelta(hours=1)
MINUTE = dt.timedelta(minutes=1)
DAY = dt.timedelta(days=1)
DAY_CHARACTERS = len("2026-11-21")
_SECOND = dt.timedelta(seconds=1)
_FIRST_RULE = dt.datetime(1990, 1, 1, tzinfo=dt.UTC)
_LAST_RULE = dt.datetime(2045, 1, 1, tzinfo=dt.UTC)
_ZONE_NAME = re.compile(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*", re.ASCII)
_MONTHS: Mapping[CalendarUnit, int] = {"month": 1, "quarter": 3, "year": 12}
_WRONG_OFFSET = re.compile(r"[T ].*[+-]\d\d:?[6-9]\d", re.ASCII)
"""An offset of over 59 minutes, which Python takes for an hour more."""
_LABELS = {
    "hour": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\dZ", re.ASCII),
    "day": re.compile(r"\d{4}-\d\d-\d\d", re.ASCII),
    "week": re.compile(r"\d{4}-\d\d-\d\d", re.ASCII),
    "month": re.compile(r"\d{4}-\d\d", re.ASCII),
    "quarter": re.compile(r"\d{4}-Q[1-4]", re.ASCII),
    "year": re.compile(r"\d{4}", re.ASCII),
}


class CalendarEdgeError(ValueError):
    """A time or a bucket that is not wholly in the calendar. The message names the limit."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} is at the edge of the calendar, which has the years 1 to 9999 of UTC: "
            "write a time that is further inside"
        )


@dataclass(frozen=True)
class CalendarBucket:
    """A bucket, and the instants in it: from ``start`` (inclusive) to ``end`` (exclusive), in UTC.

    ``is_whole``: it has every instant between the two. Otherwise a clock was set back over the
    midnight at an edge, and instants of the neighbour are in between.
    """

    label: str
    start: dt.datetime
    end: dt.datetime
    is_whole: bool = True


@dataclass(frozen=True)
class Calendar:
    """The buckets of one unit in one time zone. ``first_weekday``: of weeks; 0 is Monday."""

    unit: CalendarUnit
    zone: str = "UTC"
    first_weekday: int = 0

    def render(self, instant: dt.datetime) -> str:
        """The label of the bucket of an instant, which has a time zone.

        Raises:
            CalendarEdgeError: the bucket begins before the calendar, or the local day is not in it.
        """
        try:
            if self.unit == "hour":
                return _render_hour(_load_zone(self.zone), instant)
            return self.render_day(instant.astimezone(_load_zone(self.zone)).date())
        except OverflowError:
            raise CalendarEdgeError(f"the {self.unit} of {_describe(instant)}") from None

    def render_day(self, day: dt.date) -> str:
        """The label of the bucket of a local day. A day is in no single hour."""
        match self.unit:
            case "week":
                return (day - DAY * ((day.weekday() - self.first_weekday) % 7)).isoformat()
            case "month":
                return day.isoformat()[:7]
            case "quarter":
                return f"{day.year:04}-Q{(day.month + 2) // 3}"
            case "year":
                return f"{day.year:04}"
            case _:
                return day.isoformat()

    def render_text(self, plain: str) -> str:
        """The label of the bucket of an instant or a day, as its text."""
        if len(plain) == DAY_CHARACTERS:
            return self.render_day(dt.date.fromisoformat(plain))
        return self.render(dt.datetime.fromisoformat(plain))

    def find_bucket(self, instant: dt.datetime) -> CalendarBucket:
        """The bucket of an instant, which has a time zone."""
        return self.parse(self.render(instant))

    def parse(self, label: str) -> CalendarBucket:
        """The bucket with a label. One of a day that the zone left out has no instant.

        Raises:
            ValueError: no bucket has that label.
            CalendarEdgeError: the bucket is not wholly in the calendar.
        """
        first = self._parse_label(label)
        try:
            if self.unit == "hour":
                return self._parse_hour(label)
            start, begins_once = _find_midnight(self.zone, first, latest=False)
            end, ends_once = _find_midnight(self.zone, self._add_unit(first), latest=True)
        except OverflowError:
            raise CalendarEdgeError(f"the {self.unit} {label}") from None
        return CalendarBucket(label, start, end, is_whole=begins_once and ends_once)

    def count_buckets(self, since: dt.datetime, until: dt.datetime) -> int:
        """The number of buckets from ``since`` to before ``until``, without a list of them.

        A day that the zone left out counts. Of hours, one more or less may be at each time at which
        the clock is set by a part of an hour.
        """
        if self.unit == "hour":
            return -((since - until) // HOUR)
        first = self.parse_first_day(self.render(since))
        last = self.parse_first_day(self.render(until - _SECOND))
        months = _MONTHS.get(self.unit)
        if months is not None:
            return (12 * (last.year - first.year) + last.month - first.month) // months + 1
        return (last - first).days // (7 if self.unit == "week" else 1) + 1

    def list_buckets(self, since: dt.datetime, until: dt.datetime) -> Iterator[CalendarBucket]:
        """The buckets that have an instant from ``since`` to before ``until``, in order."""
        bucket = self.find_bucket(since)
        while bucket.start < until:
            if bucket.start < bucket.end and bucket.end > since:
                yield bucket
            bucket = self.find_following(bucket)

    def find_following(self, bucket: CalendarBucket) -> CalendarBucket:
        """The bucket behind another one."""
        if self.unit == "hour":
            return self.find_bucket(bucket.end)
        return self.parse(self.render_day(self._add_unit(self.parse_first_day(bucket.label))))

    def parse_first_day(self, label: str) -> dt.date:
        """The first local day of a bucket of whole days."""
        match self.unit:
            case "month":
                return dt.date.fromisoformat(f"{label}-01")
            case "quarter":
                return dt.date(int(label[:4]), 3 * int(label[-1]) - 2, 1)
            case "year":
                return dt.date(int(label), 1, 1)
            case _:
                return dt.date.fromisoformat(label)

    def _parse_label(self, label: str) -> dt.date:
        """The first local day of a bucket; of an hour, the day of its beginning in UTC.

        Raises:
            ValueError: no bucket has that label. Whether a zone has an hour is not checked here.
        """
        try:
            if _LABELS[self.unit].fullmatch(label):
                if self.unit == "hour":
                    return dt.datetime.fromisoformat(label).date()
                first = self.parse_first_day(label)
                if self.render_day(first) == label:
                    return first
        except ValueError:  # there is no 30th of February
            pass
        raise ValueError(f"{label!r} is no {self.unit}")

    def _add_unit(self, first: dt.date) -> dt.date:
        months = _MONTHS.get(self.unit)
        if months is None:
            return first + DAY * (7 if self.unit == "week" else 1)
        month = first.month - 1 + months
        if first.year + month // 12 > dt.MAXYEAR:
            raise OverflowError
        return dt.date(first.year + month // 12, month % 12 + 1, 1)

    def _parse_hour(self, label: str) -> CalendarBucket:
        """An hour: the instants of one local hour with one offset from UTC.

        If the clock is set within the hour, it is shorter. Before standard time, offsets have
        seconds: the label has the minute in which the hour begins, and the hour begins later.
        """
        zone = _load_zone(self.zone)
        first = dt.datetime.fromisoformat(label)
        edges = (first, first + HOUR - _SECOND, first + HOUR)
        if [_render_hour(zone, at) == label for at in edges] == [True, True, False]:
            return CalendarBucket(label, first, first + HOUR)
        last = first + HOUR + MINUTE
        start = _search(first, last, lambda at: _render_hour(zone, at) >= label)
        if _render_hour(zone, start) != label:
            raise ValueError(f"{label!r} is no hour of {self.zone}")
        return CalendarBucket(
            label, start, _search(start, last, lambda at: _render_hour(zone, at) > label)
        )


@lru_cache(maxsize=256)
def find_calendar(unit: CalendarUnit, zone: str = "UTC", first_weekday: int = 0) -> Calendar:
    """The one calendar of these values."""
    return Calendar(unit, zone, first_weekday)


def is_label(unit: CalendarUnit, text: str) -> bool:
    """Whether a text has the form of a label."""
    return _LABELS[unit].fullmatch(text) is not None


def parse_instant(zone: str, text: str) -> dt.datetime:
    """The instant of a text: a day, for its beginning in a zone; a local time; or one with offset.

    Raises:
        ValueError: it is none of them; or the clock of the zone never shows the local time, or
            twice. The message shows what to write.
    """
    if _LABELS["day"].fullmatch(text):
        return find_calendar("day", zone).parse(text).start
    try:
        if _WRONG_OFFSET.search(text):
            raise ValueError
        given = dt.datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no day, and no time like 2026-11-21T09:00") from None
    try:
        if given.tzinfo is not None:
            return given.astimezone(dt.UTC)
        place = _load_zone(zone)
        first = given.replace(tzinfo=place).astimezone(dt.UTC)
        second = given.replace(tzinfo=place, fold=1).astimezone(dt.UTC)
    except OverflowError:
        raise CalendarEdgeError(repr(text)) from None
    if first < second:
        raise ValueError(f"{text} occurs twice in {zone}: write the offset from UTC too")
    if first > second:
        raise ValueError(f"{text} does not exist in {zone}: the clock is set forward over it")
    return first


def check_zone(name: str) -> None:
    """Check the name of a time zone.

    Raises:
        ValueError: the database has no zone of that name.
    """
    _load_zone(name)


@lru_cache(maxsize=64)
def digest_zone(name: str) -> str:
    """A digest of the rules of a zone from 1990 to 2045, empty for UTC.

    Two versions of the database in which no bucket of these years differs have the same digest.
    A change of the clock that is taken back within a week is not noticed.
    """
    if name == "UTC":
        return ""
    zone = _load_zone(name)

    def read_offset(at: dt.datetime) -> dt.timedelta:
        return at.astimezone(zone).utcoffset() or dt.timedelta()

    rules = hashlib.blake2b(digest_size=8)
    at, offset = _FIRST_RULE, read_offset(_FIRST_RULE)
    rules.update(str(offset).encode())
    while at < _LAST_RULE:
        following = at + 7 * DAY
        changed = read_offset(following)
        if changed != offset:

            def differs(each: dt.datetime, before: dt.timedelta = offset) -> bool:
                return read_offset(each) != before

            change = _search(at, following, differs)
            rules.update(f"{change.isoformat()} {changed}".encode())
        at, offset = following, changed
    return rules.hexdigest()


@lru_cache(maxsize=64)
def _load_zone(name: str) -> dt.tzinfo:
    """A time zone, of the package tzdata: that of the system may have another version."""
    if name == "UTC":
        return dt.UTC
    from importlib import resources  # noqa: PLC0415  # most projects have no other zone
    from zoneinfo import ZoneInfo  # noqa: PLC0415

    file = resources.files("tzdata").joinpath("zoneinfo", name)
    if not _ZONE_NAME.fullmatch(name) or not file.is_file():
        raise ValueError(f"there is no time zone {name!r}")
    with file.open("rb") as opened:
        return ZoneInfo.from_file(opened, key=name)


def _render_hour(zone: dt.tzinfo, instant: dt.datetime) -> str:
    """The label of an hour. Labels sort by time, however the clock is set."""
    local = instant.astimezone(zone)
    offset = local.utcoffset() or dt.timedelta()
    begin = local.replace(minute=0, second=0, microsecond=0, tzinfo=None) - offset
    label = f"{begin.isoformat()[:16]}Z"
    since = begin.replace(tzinfo=dt.UTC)
    if since.astimezone(zone).utcoffset() == offset:
        return label
    # The clock was set within the hour. If it was set forward by a part of an hour, the label would
    # be one before that of the earlier part: Athens, 28 July 1916. Both parts are one hour then.
    change = _search(since, instant, lambda at: at.astimezone(zone).utcoffset() == offset)
    return max(label, _render_hour(zone, change - _SECOND))


def _describe(instant: dt.datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")


def _find_midnight(zone: str, day: dt.date, *, latest: bool) -> tuple[dt.datetime, bool]:
    """The beginning of a local day in UTC, and whether the clock shows this midnight at most once.

    ``latest``: of two midnights, the second one. If the clock is set over midnight, the day begins
    when it is set.
    """
    place = _load_zone(zone)
    midnight = dt.datetime.combine(day, dt.time(), place)
    first = midnight.astimezone(dt.UTC)
    second = midnight.replace(fold=1).astimezone(dt.UTC)
    if second < first:  # a gap
        begin = _search(second, first, lambda at: at.astimezone(place).date() >= day)
        return begin, True
    return (second if latest else first), first == second


def _search(
    low: dt.datetime, high: dt.datetime, holds: Callable[[dt.datetime], bool]
) -> dt.datetime:
    """The first second from ``low`` to ``high`` for which something holds, as for later ones."""
    seconds = int((high - low).total_seconds())
    begin, end = 0, seconds
    while begin < end:
        middle = (begin + end) // 2
        if holds(low + _SECOND * middle):
            end = middle
        else:
            begin = middle + 1
    return low + _SECOND * begin
