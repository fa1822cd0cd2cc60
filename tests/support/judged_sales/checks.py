"""Every figure of the sales, read through the book and compared with the judge."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal
from zoneinfo import ZoneInfo

from daicho import Book
from tests.support.judged_sales.comparison import Comparison, Declared
from tests.support.judged_sales.declarations import LORD_HOWE, NEW_YORK, SERIES, Sale
from tests.support.judged_sales.judge import EDGES, Judge, Judged

SUMS = (Declared("price", EDGES["price"]),)
EXTREMES = (Declared("pieces", has_extremes=True),)
ALL = tuple(Declared(field, EDGES[field], has_extremes=True) for field in EDGES)
MONTHLY = (Declared("price", has_extremes=True),)
Step = Literal["hour", "day", "week", "month", "quarter", "year"]
Bounds = tuple[dt.datetime, dt.datetime]


class FigureChecks:
    """Compares all figures of the sales. ``years``: the local years that have sales.

    ``hours_of``: of so many months all hours are compared; ``ranges``: so many ranges of hours.
    """

    def __init__(
        self,
        book: Book,
        judge: Judge,
        years: Sequence[int],
        shops: Sequence[str],
        *,
        hours_of: int | None = None,
        ranges: int = 40,
    ) -> None:
        self.hours_of, self.ranges = hours_of, ranges
        self.book, self.judge, self.years, self.shops = book, judge, years, shops
        self.comparison = Comparison()

    def compare_scores(self) -> None:
        """The groups by shop, and one that has no sale."""
        judged = self.judge.compute_by_shop()
        for shop in (*self.shops, "nowhere"):
            for live in (False, True):
                score = self.book.read(Sale.by_shop(shop), live=live)
                self.comparison.compare_group(f"{shop}", judged.get(shop), score, ALL)

    def compare_zone(self, zone: str) -> None:
        """All series of a zone: by hour to year, of all shops and of each."""
        hours, days = SERIES[zone]
        quarters = list(pairwise(self._list_quarters(zone)))
        months = [bounds for quarter in quarters for bounds in _split_months(zone, quarter)]
        months = months[: self.hours_of]
        whole = (quarters[0][0], quarters[-1][1])
        by_year = list(pairwise(self._list_quarters(zone)[::4]))
        steps: tuple[tuple[Step, Sequence[Bounds]], ...] = (
            *(("hour", months), ("day", by_year), ("week", by_year)),
            *(("month", by_year), ("quarter", by_year), ("year", by_year)),
        )
        for step, all_bounds in steps:
            self._compare_step(zone, hours, (), step, all_bounds, SUMS)
        for shop in self.shops:
            # The smallest and the largest values of at most 100 stored buckets are read.
            for short_step in ("day", "week", "month", "quarter"):
                self._compare_step(zone, days, (shop,), short_step, quarters, EXTREMES)
            if zone == NEW_YORK:
                self.compare_weeks_from_sunday(shop)
            if zone == LORD_HOWE:
                for long_step in ("month", "quarter", "year"):
                    self._compare_step(zone, Sale.months, (shop,), long_step, [whole], MONTHLY)
        self._compare_ranges(zone, hours, days, whole)

    def _compare_step(
        self,
        zone: str,
        queries: Any,
        parts: tuple[str, ...],
        step: Step,
        all_bounds: Sequence[Bounds],
        declared: Sequence[Declared],
    ) -> None:
        shop = parts[0] if parts else ""
        for bounds in all_bounds:
            judged = self._select(zone, step, bounds, shop)
            series = self.book.series(queries(*parts), *bounds, step=step)
            name = f"{queries.declaration}{parts} by {step}"
            self.comparison.compare_series(name, judged, series.buckets, declared, bounds)

    def compare_weeks_from_sunday(self, shop: str) -> None:
        """The weeks of New York that begin on a Sunday: a year of them is one stored item."""
        since = _to_utc(NEW_YORK, _find_sunday(self.years[0]))
        until = _to_utc(NEW_YORK, _find_sunday(self.years[-1] + 1))
        judged = self._select(NEW_YORK, "sunday week", (since, until), shop)
        series = self.book.series(Sale.weeks_from_sunday(shop), since, until, step="week")
        name, bounds = f"weeks of {shop} from Sunday", (since, until)
        self.comparison.compare_series(name, judged, series.buckets, SUMS, bounds)

    def _compare_ranges(self, zone: str, hours: Any, days: Any, whole: Bounds) -> None:
        """Sums over ranges that begin and end at any hour, and extremes over some weeks."""
        for place in range(self.ranges):
            since = whole[0] + dt.timedelta(days=7 * place, hours=5 * place)
            until = since + dt.timedelta(days=1 + 4 * place, hours=3)
            if until > whole[1]:
                break
            bounds = (_truncate_hour(zone, since), _truncate_hour(zone, until))
            judged = self._select(zone, "range", bounds, "")
            series = self.book.series(hours(), *bounds)
            self.comparison.compare_series(f"{zone} range", judged, series.buckets, SUMS, bounds)
        local = dt.datetime(self.years[0], 2, 20)  # noqa: DTZ001  # it gets its zone below
        for place in range(5):
            first = local + dt.timedelta(days=61 * place)
            bounds = (_to_utc(zone, first), _to_utc(zone, first + dt.timedelta(days=59 + place)))
            for shop in self.shops:
                judged = self._select(zone, "range", bounds, shop)
                series = self.book.series(days(shop), *bounds)
                name = f"{zone} range of {shop}"
                self.comparison.compare_series(name, judged, series.buckets, EXTREMES, bounds)

    def _select(self, zone: str, step: str, bounds: Bounds, shop: str) -> dict[str, Judged]:
        computed = self.judge.compute(zone, step, *bounds, by_shop=bool(shop))
        return {label: judged for (sold_in, label), judged in computed.items() if sold_in == shop}

    def _list_quarters(self, zone: str) -> list[dt.datetime]:
        """The beginnings of all quarters, and the end of the last one."""
        last = self.years[-1] + 1
        months = [(year, month) for year in self.years for month in (1, 4, 7, 10)]
        begins = [dt.datetime(year, month, 1) for year, month in (*months, (last, 1))]  # noqa: DTZ001
        return [_to_utc(zone, begin) for begin in begins]


def _split_months(zone: str, quarter: Bounds) -> list[Bounds]:
    """The months of a quarter."""
    first = quarter[0].astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    begins = [_to_utc(zone, first.replace(month=first.month + n)) for n in range(3)]
    return list(pairwise((*begins, quarter[1])))


def _to_utc(zone: str, local: dt.datetime) -> dt.datetime:
    return local.replace(tzinfo=ZoneInfo(zone)).astimezone(dt.UTC)


def _truncate_hour(zone: str, instant: dt.datetime) -> dt.datetime:
    """The instant at which the local hour of another one begins; no clock is set within it."""
    local = instant.astimezone(ZoneInfo(zone))
    return instant - dt.timedelta(minutes=local.minute, seconds=local.second)


def _find_sunday(year: int) -> dt.datetime:
    """The first Sunday of a year at midnight."""
    first = dt.datetime(year, 1, 1)  # noqa: DTZ001  # it gets its zone from the caller
    return first + dt.timedelta(days=(6 - first.weekday()) % 7)
