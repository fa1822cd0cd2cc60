"""The figures that readers must show, computed from the values of the base items with fractions."""

from __future__ import annotations

import datetime as dt
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from daicho.declare.results import FieldFigures
from daicho.plan import AggregatePlan, EntityPlan, Part
from daicho.plan.calendar import CalendarUnit, find_calendar
from daicho.query.figures.field_figures import build_figures, read_extremes
from daicho.query.figures.series import SeriesReader
from daicho.query.totals import TallyGroup, Totals
from daicho.storage.attributes import Image
from daicho.storage.item_cache import ItemCache
from daicho.storage.table import Table
from daicho.tally.reader import read_rolled_up_amount
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.oracle.rows.plain_amounts import list_plain_groups, read_number
from daicho.testing.oracle.rows.plain_keys import render_tally
from daicho.testing.simulated_entities import TENANT

COARSER_STEPS: Mapping[str, CalendarUnit] = {"hour": "day", "day": "month", "month": "year"}
PLACES = 12


@dataclass
class PlainValues:
    """The items of a group: their images, with the instant of the series."""

    items: list[tuple[dt.datetime | None, Image]] = field(default_factory=list)
    tallies: set[str] = field(default_factory=set)


def find_figure_differences(
    deployment: SimulatedDeployment,
    items: Iterable[Image],
    unknowable_tallies: Collection[str],
) -> list[str]:
    """What readers show of figures that differs from the items, in a line each.

    Aggregates that keep expired items are left out: their amounts are compared only.
    """
    differences: list[str] = []
    by_aggregate: dict[tuple[str, str, int], list[tuple[EntityPlan, AggregatePlan, Image]]] = {}
    for image in items:
        plan = deployment.entities.find_plan(image)
        for aggregate in plan.derived_aggregates:
            instance = (plan.name, aggregate.name, aggregate.since)
            has_figures = aggregate.figures or aggregate.series is not None
            is_read = aggregate.on_expiry != "keep" and instance not in deployment.disabled
            if has_figures and is_read:
                by_aggregate.setdefault(instance, []).append((plan, aggregate, image))
    if not by_aggregate:
        return []
    table = deployment.open_table()
    for found in by_aggregate.values():
        plan, aggregate, _ = found[-1]
        groups: defaultdict[tuple[tuple[str, ...], tuple[str, ...]], PlainValues]
        groups = defaultdict(PlainValues)
        for own_plan, own_aggregate, image in found:
            for group in list_plain_groups(own_plan, own_aggregate, image):
                values = groups[group.within, group.by]
                values.items.append((_read_instant(aggregate, image), image))
                values.tallies.add(group.render_tally(plan, aggregate, image))
        for (within, by), values in groups.items():
            if not _is_any_unknowable(aggregate, values.tallies, unknowable_tallies):
                reading = _GroupReading(deployment, table, plan, aggregate, within, by)
                differences += reading.compare(values)
    return differences


def _is_any_unknowable(
    aggregate: AggregatePlan, tallies: Collection[str], unknowable: Collection[str]
) -> bool:
    """Whether only a recount can determine any tally that readers of a group show.

    A series also shows chunks that no item is in any more.
    """
    if aggregate.series is None:
        return any(tally in unknowable for tally in tallies)
    beginnings = tuple(f"{tally.rpartition('#')[0]}#" for tally in tallies)
    return any(tally.startswith(beginnings) for tally in unknowable)


@dataclass(frozen=True)
class _GroupReading:
    """A group of an aggregate, as readers show it."""

    deployment: SimulatedDeployment
    table: Table
    plan: EntityPlan
    aggregate: AggregatePlan
    within: tuple[str, ...]
    by: tuple[str, ...]

    def compare(self, values: PlainValues) -> list[str]:
        """The differences from the values of the items."""
        if self.aggregate.series is not None:
            return self._compare_series(values)
        group = (*self.within, *self.by)
        tally = render_tally(TENANT, self.plan.name, self.aggregate, group)
        amount = read_rolled_up_amount(self.table, tally, consistent=True)
        extremes = read_extremes(self.table, TENANT, self.plan, self.aggregate, group)
        figures = build_figures(self.aggregate, amount, extremes)
        images = [image for _, image in values.items]
        return self._list_differences(tally, amount.items, amount.total, figures, images)

    def _compare_series(self, values: PlainValues) -> list[str]:
        part = self.aggregate.series
        assert part is not None  # noqa: S101  # the caller has asked
        instants = [at for at, _ in values.items if at is not None]
        unit = part.bucket or "day"
        coarser = COARSER_STEPS.get(unit)
        ranges: list[tuple[CalendarUnit | None, dt.datetime, dt.datetime]] = []
        steps: list[CalendarUnit] = [unit] if coarser is None else [unit, coarser]
        for step in steps:
            # Hours are read day by day: all hours between two items may be too many.
            near = coarser if step == "hour" and coarser is not None else step
            several = [[at] for at in instants] if step == "hour" else [instants]
            for some in several:
                ranges.append((step, *_find_edges(near, part, some)))
        ranges.append((None, *_find_edges(unit, part, instants)))
        return [
            difference
            for step, since, until in dict.fromkeys(ranges)
            for difference in self._compare_range(values, step, since, until)
        ]

    def _compare_range(
        self,
        values: PlainValues,
        step: CalendarUnit | None,
        since: dt.datetime,
        until: dt.datetime,
    ) -> list[str]:
        series = self._open_reader().read((since, until), step, live=False)
        differences: list[str] = []
        edges = [since, *(bucket.end for bucket in series.buckets)]
        if [bucket.start for bucket in series.buckets] != edges[:-1] or edges[-1] != until:
            differences.append(f"series: {self.by}: gaps between {since} and {until}")
        for bucket in series.buckets:
            images = [
                image
                for at, image in values.items
                if at is not None and bucket.start <= at < bucket.end
            ]
            name = f"series {self.plan.name}.{self.aggregate.name} {self.by} {bucket.label}"
            differences += self._list_differences(
                name, bucket.items, Decimal(bucket.total), bucket.figures, images
            )
        return differences

    def _open_reader(self) -> SeriesReader:
        group = TallyGroup(TENANT, self.plan, self.aggregate, self.within)
        item_cache = ItemCache(self.deployment.clock.now)
        return SeriesReader(Totals(self.table, item_cache, group), self.by, 1)

    def _list_differences(
        self,
        name: str,
        items: int,
        total: Decimal,
        figures: Mapping[str, FieldFigures],
        images: Sequence[Image],
    ) -> list[str]:
        measured = self.aggregate.field
        if self.aggregate.measure == "sum":
            summed = [
                value for image in images if (value := read_number(image, measured)) is not None
            ]
            expected = (len(summed), sum(map(Fraction, summed)))
        else:
            expected = (len(images), Fraction(len(images)))
        differences = []
        if (items, Fraction(total)) != expected:
            differences.append(f"figures: {name}: {items}, {total} instead of {expected}")
        for field_name, shown in figures.items():
            values = [
                value for image in images if (value := read_number(image, field_name)) is not None
            ]
            kinds = {each.kind for each in self.aggregate.figures if each.field == field_name}
            differences += [
                f"figures: {name}: {field_name}: {difference}"
                for difference in _compare_field(shown, kinds, values)
            ]
        return differences


def _compare_field(
    shown: FieldFigures, kinds: Collection[str], values: Sequence[Decimal]
) -> list[str]:
    exact = sorted(map(Fraction, values))
    count = len(exact)
    mean = sum(exact) / count if count else None
    expected: dict[str, Any] = {"count": count, "total": sum(exact)}
    expected["mean"] = None if mean is None else round(mean, PLACES)
    if "variance" in kinds:
        squares = [(value - (mean or 0)) ** 2 for value in exact]
        expected["variance"] = round(Fraction(sum(squares)) / count, PLACES) if count else None
    if "min" in kinds:
        expected["min"] = exact[0] if exact else None
    if "max" in kinds:
        expected["max"] = exact[-1] if exact else None
    differences = [
        f"{name} {getattr(shown, name)} instead of {value}"
        for name, value in expected.items()
        if _to_fraction(getattr(shown, name)) != value
    ]
    for bucket in shown.histogram:
        inside = sum(
            (bucket.low is None or bucket.low <= value)
            and (bucket.high is None or value < bucket.high)
            for value in values
        )
        if inside != bucket.count:
            differences.append(f"{bucket.count} from {bucket.low} to {bucket.high}, not {inside}")
    if "percentiles" in kinds and count:
        for share in (Decimal("0.1"), Decimal("0.5"), Decimal("0.99")):
            found = shown.find_percentile(share)
            ranked = exact[math.ceil(share * count) - 1]
            is_right = found is not None and (
                (found.low is None or found.low <= ranked)
                and (found.high is None or ranked < found.high)
            )
            if not is_right:
                differences.append(f"the percentile {share} is in {found}, not near {ranked}")
    return differences


def _to_fraction(value: Decimal | int | None) -> Fraction | None:
    return None if value is None else Fraction(value)


def _read_instant(aggregate: AggregatePlan, image: Image) -> dt.datetime | None:
    if aggregate.series is None:
        return None
    text = image[aggregate.series.field]["S"]
    at = dt.datetime.fromisoformat(text)
    return at if at.tzinfo is not None else at.replace(tzinfo=dt.UTC)


def _find_edges(
    unit: CalendarUnit, part: Part, instants: Sequence[dt.datetime]
) -> tuple[dt.datetime, dt.datetime]:
    """A range of whole buckets with all instants."""
    calendar = find_calendar(unit, part.zone, part.first_weekday)
    first, last = calendar.find_bucket(min(instants)), calendar.find_bucket(max(instants))
    return first.start, last.end
