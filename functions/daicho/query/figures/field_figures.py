"""The further figures of a group, from its amount and from its rows in order of value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType

from daicho.declare.results import FieldFigures, HistogramBucket
from daicho.derive.contributions import Amount, find_buckets
from daicho.derive.figures import compute_mean, compute_variance
from daicho.layout.item_keys import render_extremes_list
from daicho.plan import AggregatePlan, EntityPlan
from daicho.plan.figures.figure_plans import MeasuredField
from daicho.storage import keys
from daicho.storage.requests import Query
from daicho.storage.scales import pad_decimal
from daicho.storage.table import Table

Extremes = tuple[Decimal | None, Decimal | None]
"""The smallest and the largest value; None if it is not declared, or nothing has a value."""
INDEX = "GSI2"


def build_figures(
    aggregate: AggregatePlan,
    amount: Amount,
    extremes: Mapping[str, Extremes],
    places: Mapping[str, int] = MappingProxyType({}),
) -> Mapping[str, FieldFigures]:
    """The figures by field; none if the aggregate declares a single figure.

    ``extremes``: by field, as `read_extremes` gives them. ``places``: behind the point of sums and
    extremes, as the fields declare them.
    """
    if not aggregate.figures:
        return {}
    by_field = {}
    for place, measured in enumerate(aggregate.measured_fields):
        figures = _build_field_figures(place, measured, amount)
        low, high = extremes.get(measured.field, (None, None))
        least = places.get(measured.field, 0)
        by_field[measured.field] = replace(
            figures,
            total=pad_decimal(figures.total, least),
            min=None if low is None else pad_decimal(low, least),
            max=None if high is None else pad_decimal(high, least),
        )
    return by_field


def _build_field_figures(place: int, measured: MeasuredField, amount: Amount) -> FieldFigures:
    count, total = int(amount.get_part(f"n{place}")), amount.get_part(f"s{place}")
    variance = None
    if measured.has_squares:
        variance = compute_variance(count, total, amount.get_part(f"q{place}"))
    histogram: list[HistogramBucket] = []
    if measured.edges:
        buckets = find_buckets(measured.edges)
        for number in range(len(buckets.edges) + 1):
            low, high = buckets.get_bounds(number)
            in_bucket = int(amount.get_part(f"h{place}.{number}"))
            histogram.append(HistogramBucket(low, high, in_bucket))
    mean = compute_mean(count, total)
    return FieldFigures(count, total, mean, variance, histogram=tuple(histogram))


def read_extremes(
    table: Table, tenant: str, plan: EntityPlan, aggregate: AggregatePlan, group: Sequence[str]
) -> dict[str, Extremes]:
    """The smallest and the largest value of each field that declares one, of the index.

    ``group``: the values of ``within`` and ``by``, and of a series the chunk and the code of the
    bucket. Half a read unit for each value.
    """
    extremes: dict[str, Extremes] = {}
    for place, measured in enumerate(aggregate.measured_fields):
        if measured.has_rows:
            rows = render_extremes_list(tenant, plan, aggregate, (str(place), *group))
            low = _read_end(table, rows, highest=False) if measured.has_min else None
            high = _read_end(table, rows, highest=True) if measured.has_max else None
            extremes[measured.field] = (low, high)
    return extremes


def join_extremes(several: Sequence[Mapping[str, Extremes]]) -> dict[str, Extremes]:
    """The smallest and the largest values of several stretches of time."""
    joined: dict[str, Extremes] = {}
    for extremes in several:
        for field, (low, high) in extremes.items():
            other_low, other_high = joined.get(field, (None, None))
            lows = [value for value in (low, other_low) if value is not None]
            highs = [value for value in (high, other_high) if value is not None]
            joined[field] = (min(lows, default=None), max(highs, default=None))
    return joined


def _read_end(table: Table, rows: str, *, highest: bool) -> Decimal | None:
    # Rows are in order of the inverted value, so the first one has the largest.
    page = table.query(Query(rows, INDEX, forward=highest, limit=1))
    if not page.items:
        return None
    return keys.read_inverted_score(keys.parse_first(page.items[0][f"{INDEX}SK"]["S"]))
