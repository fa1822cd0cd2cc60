"""The answers of a `Book`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from typing import Any, Generic, Literal

from daicho.declare.entity import E
from daicho.derive.figures import find_percentile
from daicho.plan.calendar import CalendarUnit
from daicho.runtime.frozen_dataclasses import dataclass


@dataclass(frozen=True)
class SectionValue:
    """A section's value, and the version of the item at which it was last written."""

    value: Any
    version: int
    new: bool = False


@dataclass(frozen=True)
class VoteResult:
    """The result of a vote for a fast counter.

    ``unknown``: DynamoDB did not answer, so the vote was counted or it was not. It is not repeated,
    because a repeat might count it twice.
    """

    counted: Literal["yes", "unknown"]


@dataclass(frozen=True)
class ForgetVersionsResult:
    """How many versions were removed; unless ``done``, there are more: call again."""

    removed: int
    done: bool


@dataclass(frozen=True)
class HistogramBucket:
    """The items whose value is from ``low`` (inclusive) to ``high`` (exclusive); None: no bound."""

    low: Decimal | None
    high: Decimal | None
    count: int


@dataclass(frozen=True)
class FieldFigures:
    """The figures of one field in a group: of the items that have a value.

    ``mean`` and ``variance`` are None if nothing was counted, and have 12 places. ``variance``,
    ``min`` and ``max`` are None too if they are not declared. ``histogram``: every declared
    bucket; empty without buckets.
    """

    count: int
    total: Decimal
    mean: Decimal | None
    variance: Decimal | None = None
    min: Decimal | None = None
    max: Decimal | None = None
    histogram: tuple[HistogramBucket, ...] = ()

    def find_percentile(self, share: Decimal) -> HistogramBucket | None:
        """The bucket with a percentile by nearest rank; ``share`` 0.5 is the median.

        None if nothing was counted, or without buckets.

        Raises:
            ValueError: the share is not above 0 and at most 1.
        """
        counts = {place: bucket.count for place, bucket in enumerate(self.histogram)}
        place = find_percentile(counts, share)
        return None if place is None else self.histogram[place]


@dataclass(frozen=True)
class Score:
    """A tally's value; ``by`` are the group's parts as text, ``rank`` its place from 1.

    Without a rank it has no members, or its place is ``beyond`` a number up to which it is counted.
    """

    by: tuple[str, ...]
    items: int
    total: Any
    rank: int | None = None
    beyond: int | None = None
    figures: Mapping[str, FieldFigures] = field(default_factory=dict)
    """The further figures of the group, by measured field."""
    as_of: dt.datetime | None = None
    """The figures include everything up to this time: every change whose stream record was made
    before. None if it is unknown, and in a page of a ranking, which has one of its own."""
    rolled_up: bool = True
    """Whether it is the total of the last rollup; False: added up from the slots."""
    uncertain: bool = False
    """Whether changes after ``as_of`` are lost to it until the stack is recovered."""


@dataclass(frozen=True)
class SeriesBucket:
    """The figures of a stretch of time of one group.

    ``label``: that of the step's bucket, such as ``2026-11-21``; empty for the whole range.
    ``start`` (inclusive) and ``end`` (exclusive): in UTC, within the range that was requested.
    """

    label: str
    start: dt.datetime
    end: dt.datetime
    items: int
    total: Any
    figures: Mapping[str, FieldFigures]


@dataclass(frozen=True)
class Series:
    """The figures of one group over a range of time, empty buckets included, in order.

    ``zone``: of the declared bucket. ``step``: the unit of the buckets; None for one of all.
    ``as_of``, ``rolled_up`` and ``uncertain``: see `Score`. They apply to all buckets.
    """

    zone: str
    step: CalendarUnit | None
    buckets: tuple[SeriesBucket, ...]
    as_of: dt.datetime | None = None
    rolled_up: bool = True
    uncertain: bool = False


@dataclass(frozen=True)
class UnreadableItem:
    """An item that a page leaves out, because its entity cannot read what is stored.

    ``key``: the values of its key as texts, by field. ``detail``: what is wrong, with the attribute
    ``field`` if one is at fault.
    """

    key: Mapping[str, str]
    detail: str
    field: str = ""


@dataclass(frozen=True)
class Page(Generic[E]):
    """Items in order, and the cursor that continues behind them: None only at the end.

    A page may come short, or empty, and still have a cursor: what one page reads is bounded.
    ``unreadable``: items of the list that it leaves out.
    """

    items: list[E]
    cursor: str | None
    unreadable: Sequence[UnreadableItem] = ()


@dataclass(frozen=True)
class Chart:
    """Scores from the highest, and the cursor that continues behind them: None only at the end.

    ``as_of``, ``rolled_up``, ``uncertain``: see `Score`. They are of all scores. ``unreadable``:
    members that it leaves out, because their stored totals are damaged.
    """

    items: list[Score]
    cursor: str | None
    as_of: dt.datetime | None = None
    rolled_up: bool = True
    unreadable: Sequence[UnreadableItem] = ()
    uncertain: bool = False
