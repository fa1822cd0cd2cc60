"""Compares what the product answers about sales with what the judge computes."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from typing import Any

from daicho.declare.results import FieldFigures
from tests.support.judged_sales.judge import EDGES, SHARES, Judged, JudgedField

RELATIVE_TOLERANCE = 1e-9
"""Between an exact mean or variance and DuckDB's own, which is a floating-point number."""
MAX_SHOWN = 20
_NOTHING = JudgedField(0, Decimal(0), None, None, None, None, None, None, (), ())


@dataclass
class Comparison:
    """How many values were compared, and how many differ, by kind; the first differences."""

    compared: Counter[str] = field(default_factory=Counter)
    different: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def compare_group(
        self, name: str, judged: Judged | None, items: int, figures: Mapping[str, FieldFigures]
    ) -> None:
        """Compare all figures of one group. ``judged``: None if the group has no sale."""
        self._compare("items", name, items, judged.items if judged else 0)
        for measured in EDGES:
            expected = judged.fields[measured] if judged else _NOTHING
            if measured not in figures:
                self._compare("figures", name, "none", measured)
                continue
            self._compare_field(f"{name}.{measured}", expected, figures[measured], EDGES[measured])

    def compare_series(
        self, name: str, judged: Mapping[str, Judged], buckets: Sequence[Any]
    ) -> None:
        """Compare a series of buckets, with the empty ones, by the labels of the judge."""
        for label in judged.keys() - {bucket.label for bucket in buckets}:
            self._compare("buckets", name, "no bucket", label)
        for one, next_one in pairwise(buckets):
            self._compare("buckets", f"{name} after {one.label}", next_one.start, one.end)
        for bucket in buckets:
            expected = judged.get(bucket.label)
            place = f"{name} {bucket.label}"
            if expected:
                is_within = bucket.start <= expected.first <= expected.last < bucket.end
                self._compare("buckets", place, is_within, True)
            self.compare_group(place, expected, bucket.items, bucket.figures)

    def compare_bounds(
        self, name: str, buckets: Sequence[Any], since: dt.datetime, until: dt.datetime
    ) -> None:
        """Compare the ends of an answer with the range that was requested."""
        ends = (buckets[0].start, buckets[-1].end) if buckets else None
        self._compare("buckets", name, ends, (since, until))

    def list_kinds(self) -> Iterator[tuple[str, int, int]]:
        """Each kind, the values that were compared, and those that differ."""
        for kind, compared in self.compared.items():
            yield kind, compared, self.different[kind]

    def _compare_field(
        self, name: str, expected: JudgedField, answer: FieldFigures, edges: Sequence[Decimal]
    ) -> None:
        self._compare("count", name, answer.count, expected.count)
        self._compare("sum", name, answer.total, expected.total)
        self._compare("mean", name, answer.mean, expected.mean)
        self._compare("variance", name, answer.variance, expected.variance)
        self._compare("min", name, answer.min, expected.low)
        self._compare("max", name, answer.max, expected.high)
        for kind, exact, floating in (
            ("mean beside avg", answer.mean, expected.float_mean),
            ("variance beside var_pop", answer.variance, expected.float_variance),
        ):
            self._compare(kind, name, _is_close(exact, floating), True)
        bounds = list(zip((None, *edges), (*edges, None), strict=True))
        counts = expected.counts or (0,) * len(bounds)
        self._compare(
            "histogram bounds",
            name,
            [(bucket.low, bucket.high) for bucket in answer.histogram],
            bounds,
        )
        for bucket, count in zip(answer.histogram, counts, strict=False):
            self._compare("histogram", f"{name} from {bucket.low}", bucket.count, count)
        for share, value in zip(SHARES, expected.percentiles or [None] * len(SHARES), strict=True):
            found = answer.find_percentile(share)
            if value is None or found is None:
                self._compare("percentile", f"{name} {share}", found, value)
                continue
            is_within = (found.low is None or found.low <= value) and (
                found.high is None or value < found.high
            )
            self._compare("percentile", f"{name} {share} {found} has {value}", is_within, True)

    def _compare(self, kind: str, name: str, answer: object, expected: object) -> None:
        self.compared[kind] += 1
        if answer != expected:
            self.different[kind] += 1
            if len(self.examples) < MAX_SHOWN:
                self.examples.append(f"{name}, {kind}: {answer}, DuckDB: {expected}")


def _is_close(exact: Decimal | None, floating: float | None) -> bool:
    if exact is None or floating is None:
        return exact is floating
    return math.isclose(
        float(exact), floating, rel_tol=RELATIVE_TOLERANCE, abs_tol=RELATIVE_TOLERANCE
    )
