"""Reads series: figures of one group over a range of time.

A range is covered by stored buckets and by whole chunks (`daicho.plan.figures.series`). All chunks
are read with one batch of reads, eventually consistent: half a read unit for each 4 KB.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import get_args

from daicho.declare.results import Series, SeriesBucket
from daicho.derive.contributions import Amount, sum_amounts, unpack_buckets
from daicho.errors import Invalid
from daicho.plan import AggregatePlan, Part
from daicho.plan.calendar import (
    Calendar,
    CalendarBucket,
    CalendarEdgeError,
    CalendarUnit,
    parse_instant,
)
from daicho.plan.figures.series import (
    DIVISIBLE_UNITS,
    StoredBucket,
    cover_range,
    get_calendar,
    get_chunk_name,
)
from daicho.query.figures.field_figures import Extremes, build_figures, join_extremes, read_extremes
from daicho.query.totals import Totals, to_plain_total
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.tally import slots, total_items
from daicho.tally.reader import read_live_amount

MAX_BUCKETS = 1_000
"""Buckets of an answer: about 200 bytes each."""
MAX_CHUNKS = 400
"""Chunks that one request reads: 200 read units if none is over 4 KB."""
MAX_LIVE_CHUNKS = 32
"""Chunks whose slots one request adds up."""
MAX_EXTREMES = 800
"""Smallest and largest values that one request reads, half a unit each: two of a year by day."""

Chunks = Mapping[str, tuple[Amount, Mapping[str, Amount]]]
"""By label: the amount of the whole chunk, and those of its buckets by code."""


@dataclass(frozen=True)
class SeriesReader:
    """Reads series of the member ``by`` of a group. ``parallelism``: requests at the same time."""

    totals: Totals
    by: tuple[str, ...]
    parallelism: int

    def read(
        self, bounds: tuple[dt.datetime, dt.datetime], step: CalendarUnit | None, *, live: bool
    ) -> Series:
        """The series from ``bounds[0]`` to before ``bounds[1]``.

        Raises:
            Invalid: it names ``from``, ``to``, ``step`` or ``live``.
        """
        group, part = self.totals.group, self.totals.group.aggregate.series
        if part is None:
            raise Invalid(f"{group.plan.name}.{group.aggregate.name} has no series", field="from")
        try:
            buckets = _list_steps(part, bounds, step)
            covers = _cover_steps(part, buckets)
        except CalendarEdgeError as error:  # of a coarser bucket that a bound is in
            field = "from" if bounds[0].year == dt.MINYEAR else "to"
            raise Invalid(str(error), field=field) from error
        chunks = self._read_chunks((each for cover in covers for each in cover), live)
        extremes = self._read_extremes(covers, chunks)
        series: list[SeriesBucket] = []
        for place, (bucket, cover) in enumerate(zip(buckets, covers, strict=True)):
            amount = sum_amounts(_find_amount(chunks, stored) for stored in cover)
            series.append(
                SeriesBucket(
                    bucket.label,
                    max(bucket.start, bounds[0]),
                    min(bucket.end, bounds[1]),
                    amount.items,
                    to_plain_total(amount.total, group.places),
                    build_figures(group.aggregate, amount, extremes[place], group.places_by_field),
                )
            )
        return Series(part.zone, step, tuple(series))

    def _read_chunks(self, stored: Iterable[StoredBucket], live: bool) -> Chunks:
        labels = list(dict.fromkeys(each.chunk for each in stored))
        tallies = {label: self.totals.group.render_tally((*self.by, label)) for label in labels}
        table = self.totals.table
        if live:
            if len(labels) > MAX_LIVE_CHUNKS:
                raise Invalid(
                    f"the range has {len(labels)} stored items, and at most {MAX_LIVE_CHUNKS} are "
                    "added up live; ask for a shorter one, or leave it out",
                    field="live",
                )
            with ThreadPoolExecutor(self.parallelism) as pool:
                amounts = pool.map(lambda tally: read_live_amount(table, tally), tallies.values())
                return dict(zip(labels, map(unpack_buckets, amounts), strict=True))
        keys = {label: total_items.build_total_key(tally) for label, tally in tallies.items()}
        images = table.batch_get(keys.values()).require_all()
        return {
            label: unpack_buckets(slots.read_amount(images.get(key))) for label, key in keys.items()
        }

    def _read_extremes(
        self, covers: Sequence[Sequence[StoredBucket]], chunks: Chunks
    ) -> list[dict[str, Extremes]]:
        """The extremes of each bucket of the answer, from its stored buckets that have items."""
        table, group = self.totals.table, self.totals.group
        if not group.aggregate.has_rows:
            return [{} for _ in covers]
        filled = [[(chunk, code) for chunk, code in _list_codes(cover, chunks)] for cover in covers]
        bucket_count = sum(map(len, filled))
        ends = sum(each.has_min + each.has_max for each in group.aggregate.measured_fields)
        most = min(MAX_EXTREMES, int(2 * table.budget.unread))  # each takes half a unit
        if bucket_count * ends > most:
            raise Invalid(
                f"the range has {bucket_count} stored buckets with items, and the smallest and "
                f"largest values of at most {most // ends} are read; ask for a shorter "
                "range",
                field="to",
            )

        def read(place: tuple[str, str]) -> dict[str, Extremes]:
            parts = (*group.within, *self.by, *place)
            return read_extremes(table, group.tenant, group.plan, group.aggregate, parts)

        # One pool for the whole answer: by day, each of its buckets has one stored bucket.
        with ThreadPoolExecutor(self.parallelism) as pool:
            extremes = pool.map(read, [place for places in filled for place in places])
            return [join_extremes(list(islice(extremes, len(places)))) for places in filled]


def parse_bounds(
    aggregate: AggregatePlan, since: dt.datetime | str, until: dt.datetime | str
) -> tuple[dt.datetime, dt.datetime]:
    """The instants of a range, in UTC; text without an offset is in the zone of the series.

    Raises:
        Invalid: it names ``from`` or ``to``.
    """
    zone = aggregate.series.zone if aggregate.series is not None else "UTC"
    return _parse_bound("from", zone, since), _parse_bound("to", zone, until)


def _parse_bound(name: str, zone: str, bound: dt.datetime | str) -> dt.datetime:
    try:
        if isinstance(bound, str):
            return parse_instant(zone, bound)
        if bound.tzinfo is None:
            raise ValueError("an instant needs a time zone")
        return bound.astimezone(dt.UTC)
    except ValueError as error:
        raise Invalid(str(error), field=name) from error
    except OverflowError as error:
        raise Invalid(str(CalendarEdgeError(str(bound))), field=name) from error


def _list_steps(
    part: Part, bounds: tuple[dt.datetime, dt.datetime], step: CalendarUnit | None
) -> list[CalendarBucket]:
    """The buckets of the answer, cut off at the bounds.

    Raises:
        Invalid: the range is reversed or too long, a bound is within a stored bucket, or the
            buckets of the step do not consist of stored ones.
        CalendarEdgeError: a bucket of the step is not wholly in the calendar.
    """
    since, until = bounds
    calendar = get_calendar(part)
    if since >= until:
        raise Invalid("the range ends before it begins: to must be later than from", field="to")
    if step is not None and step not in DIVISIBLE_UNITS[calendar.unit]:
        known = step in get_args(CalendarUnit)
        reason = f"does not consist of whole {calendar.unit}s" if known else "is no step"
        allowed = ", ".join(DIVISIBLE_UNITS[calendar.unit])
        raise Invalid(f"{step!r} {reason}; write one of {allowed}", field="step")
    for name, bound in (("from", since), ("to", until)):
        _check_edge(calendar, name, bound)
    if step is None:
        return [CalendarBucket("", since, until)]
    stepping = get_calendar(part, step)
    if stepping.count_buckets(since, until) > MAX_BUCKETS:
        raise Invalid(
            f"the range has over {MAX_BUCKETS:,} {step}s; ask for a shorter one, or for a "
            "coarser step",
            field="to",
        )
    return [
        CalendarBucket(bucket.label, max(bucket.start, since), min(bucket.end, until))
        for bucket in stepping.list_buckets(since, until)
    ]


def _check_edge(calendar: Calendar, name: str, bound: dt.datetime) -> None:
    """Refuse a bound that is within a stored bucket, or at the edge of the calendar."""
    try:
        begin = calendar.find_bucket(bound).start
    except CalendarEdgeError as error:
        raise Invalid(str(error), field=name) from error
    if begin != bound:
        nearest = begin.isoformat().replace("+00:00", "Z")
        raise Invalid(
            f"it is within a stored {calendar.unit}; the last edge before it is {nearest}",
            field=name,
        )


def _cover_steps(part: Part, buckets: Sequence[CalendarBucket]) -> list[list[StoredBucket]]:
    """What is stored of each bucket of the answer.

    Raises:
        Invalid: that is more than one request reads.
        CalendarEdgeError: a chunk is not wholly in the calendar.
    """
    covers: list[list[StoredBucket]] = []
    chunks: set[str] = set()
    for bucket in buckets:
        covers.append([])
        for stored in cover_range(part, bucket.start, bucket.end):
            covers[-1].append(stored)
            chunks.add(stored.chunk)
            if len(chunks) > MAX_CHUNKS:
                raise Invalid(
                    f"the range has over {MAX_CHUNKS} {get_chunk_name(part)}s, each of which is a "
                    "stored item; ask for a shorter one, or declare a coarser series",
                    field="to",
                )
    return covers


def _find_amount(chunks: Chunks, stored: StoredBucket) -> Amount:
    whole, buckets = chunks[stored.chunk]
    return whole if stored.code is None else buckets.get(stored.code, Amount())


def _list_codes(cover: Sequence[StoredBucket], chunks: Chunks) -> Iterable[tuple[str, str]]:
    """The chunks and codes of the stored buckets with items that a cover has."""
    for stored in cover:
        buckets = chunks[stored.chunk][1]
        codes = sorted(buckets) if stored.code is None else [stored.code]
        yield from ((stored.chunk, code) for code in codes if code in buckets)
