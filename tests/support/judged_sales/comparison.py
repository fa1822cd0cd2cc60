"""Compares what the product answers about sales with what the judge computes."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise, zip_longest

from daicho.declare.results import FieldFigures, Score, SeriesBucket
from tests.support.judged_sales.judge import SHARES, Judged, JudgedField

RELATIVE_TOLERANCE = 1e-9
"""Between an exact mean or variance and DuckDB's own, which is a floating-point number."""
MAX_SHOWN = 20
Edges = tuple[Decimal, ...]
_NOTHING = JudgedField(0, Decimal(0), None, None, None, None, None, None, (), ())


@dataclass(frozen=True)
class Declared:
    """What is declared of a field. ``edges``: of the buckets of percentiles; empty for none."""

    field: str
    edges: Edges = ()
    has_extremes: bool = False


@dataclass
class Comparison:
    """How many values were compared, and how many differ, by kind; the first differences."""

    compared: Counter[str] = field(default_factory=Counter)
    different: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def compare_group(
        self,
        name: str,
        judged: Judged | None,
        answer: Score | SeriesBucket,
        declared: Sequence[Declared],
    ) -> None:
        """Compare all figures of one group. ``judged``: None if the group has no sale."""
        self._compare("items", name, answer.items, judged.items if judged else 0)
        for each in declared:
            expected = judged.fields[each.field] if judged else _NOTHING
            self._compare_field(f"{name}.{each.field}", expected, answer.figures[each.field], each)

    def compare_series(
        self,
        name: str,
        judged: Mapping[str, Judged],
        buckets: Sequence[SeriesBucket],
        declared: Sequence[Declared],
        bounds: tuple[dt.datetime, dt.datetime],
    ) -> None:
        """Compare a series, with its empty buckets, by the labels of the judge."""
        ends = (buckets[0].start, buckets[-1].end) if buckets else None
        self._compare("bucket", name, ends, bounds)
        missing = judged.keys() - {bucket.label for bucket in buckets}
        self._compare("bucket", name, missing, set())
        for one, following in pairwise(buckets):
            self._compare("bucket", f"{name} after {one.label}", following.start, one.end)
        for bucket in buckets:
            expected = judged.get(bucket.label)
            place = f"{name} {bucket.label}"
            if expected:
                is_within = bucket.start <= expected.first <= expected.last < bucket.end
                self._compare("bucket", place, is_within, True)
            self.compare_group(place, expected, bucket, declared)

    def list_kinds(self) -> Iterator[tuple[str, int, int]]:
        """Each kind, the values that were compared, and those that differ."""
        for kind, compared in self.compared.items():
            yield kind, compared, self.different[kind]

    def _compare_field(
        self, name: str, expected: JudgedField, answer: FieldFigures, declared: Declared
    ) -> None:
        self._compare("count", name, answer.count, expected.count)
        self._compare("sum", name, answer.total, expected.total)
        self._compare("mean", name, answer.mean, expected.mean)
        if declared.has_extremes:
            self._compare("min", name, answer.min, expected.low)
            self._compare("max", name, answer.max, expected.high)
        self._compare("variance", name, answer.variance, expected.variance)
        pairs = (
            ("mean and avg()", answer.mean, expected.float_mean),
            ("variance and var_pop()", answer.variance, expected.float_variance),
        )
        for kind, exact, floating in pairs:
            self._compare(kind, f"{name} {exact} {floating}", _is_close(exact, floating), True)
        if declared.edges:
            self._compare_histogram(name, expected, answer, declared.edges)

    def _compare_histogram(
        self, name: str, expected: JudgedField, answer: FieldFigures, edges: Edges
    ) -> None:
        bounds = zip((None, *edges), (*edges, None), strict=True)
        counts = expected.counts or (0,) * (len(edges) + 1)
        for bound, count, bucket in zip_longest(bounds, counts, answer.histogram):
            found = bucket and ((bucket.low, bucket.high), bucket.count)
            self._compare("histogram bucket", name, found, (bound, count))
        for share, value in zip(SHARES, expected.percentiles or (None,) * len(SHARES), strict=True):
            place = answer.find_percentile(share)
            if value is None or place is None:
                self._compare("percentile", f"{name} {share}", place, value)
                continue
            is_within = (place.low is None or place.low <= value) and (
                place.high is None or value < place.high
            )
            self._compare("percentile", f"{name} {share}: {value} in {place}", is_within, True)

    def _compare(self, kind: str, name: str, answer: object, expected: object) -> None:
        self.compared[kind] += 1
        if answer != expected:
            self.different[kind] += 1
            if len(self.examples) < MAX_SHOWN:
                self.examples.append(f"{name}, {kind}: {answer}, DuckDB: {expected}")


def _is_close(exact: Decimal | None, floating: float | None) -> bool:
    if exact is None or floating is None:
        return exact is None and floating is None
    return math.isclose(
        float(exact), floating, rel_tol=RELATIVE_TOLERANCE, abs_tol=RELATIVE_TOLERANCE
    )
