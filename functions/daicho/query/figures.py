"""The further figures of a group, from its amount."""

from __future__ import annotations

from collections.abc import Mapping

from daicho.declare.results import FieldFigures, HistogramBucket
from daicho.derive.contributions import Amount, find_buckets
from daicho.derive.figures import compute_mean, compute_variance
from daicho.plan import AggregatePlan
from daicho.plan.figures import MeasuredField


def build_figures(aggregate: AggregatePlan, amount: Amount) -> Mapping[str, FieldFigures]:
    """The figures by field; none if the aggregate declares a single figure."""
    if not aggregate.figures:
        return {}
    return {
        measured.field: _build_field_figures(place, measured, amount)
        for place, measured in enumerate(aggregate.measured_fields)
    }


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
    return FieldFigures(count, total, compute_mean(count, total), variance, tuple(histogram))
