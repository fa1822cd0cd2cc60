"""Figures that are computed from exact sums and counts: means, variances, percentiles. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from itertools import pairwise

from daicho.runtime.frozen_dataclasses import dataclass

PLACES = 12
"""Places behind the point of a mean and a variance, rounded half to even."""
MAX_EDGES = 200
"""The most edges of buckets: a slot has a count for each bucket that was ever used."""
EDGE_DIGITS = 6
"""Significant digits of the edges of logarithmic buckets."""
MAX_SQUARED_DIGITS = 14
"""Digits of a value with a variance: a sum of 10^10 squares then has at most 38."""
_WIDE = Context(prec=120, rounding=ROUND_HALF_EVEN)
_STEP = Decimal(1).scaleb(-PLACES)


def compute_mean(count: int, total: Decimal) -> Decimal | None:
    """The mean; None of nothing."""
    if count < 1:
        return None
    return _WIDE.quantize(_WIDE.divide(total, Decimal(count)), _STEP)


def compute_variance(count: int, total: Decimal, squares: Decimal) -> Decimal | None:
    """The variance of the whole population, from exact sums; None of nothing.

    ``squares``: the sum of the squares. One value has the variance 0.
    """
    if count < 1:
        return None
    number = Decimal(count)
    product, square = _WIDE.multiply(number, squares), _WIDE.multiply(total, total)
    excess = _WIDE.subtract(product, square)
    return _WIDE.quantize(_WIDE.divide(excess, _WIDE.multiply(number, number)), _STEP)


@dataclass(frozen=True)
class Buckets:
    """Buckets of numbers: bucket 0 is below the first edge, and an edge begins a bucket.

    ``edges`` rise. There is one bucket more than edges.
    """

    edges: tuple[Decimal, ...]

    @classmethod
    def from_edges(cls, edges: Sequence[Decimal]) -> Buckets:
        """Buckets with these edges.

        Raises:
            ValueError: the edges do not rise, are not finite, or are none or too many.
        """
        if not 1 <= len(edges) <= MAX_EDGES:
            raise ValueError(f"buckets have 1 to {MAX_EDGES} edges, not {len(edges)}")
        if not all(edge.is_finite() for edge in edges):
            raise ValueError("the edges of buckets are finite numbers")
        if any(low >= high for low, high in pairwise(edges)):
            raise ValueError("the edges of buckets rise")
        return cls(tuple(edges))

    @classmethod
    def linear(cls, low: Decimal, high: Decimal, width: Decimal) -> Buckets:
        """Buckets of one width from ``low`` to ``high``, whose difference it divides.

        Raises:
            ValueError: it does not, or there are too many buckets.
        """
        if width <= 0 or high <= low:
            raise ValueError("linear buckets have a width above 0, and rise")
        count, rest = divmod(high - low, width)
        if rest:
            raise ValueError(f"the width {width} does not divide {high - low}")
        if count > MAX_EDGES:
            raise ValueError(f"buckets have at most {MAX_EDGES} edges, not {count + 1}")
        return cls.from_edges([low + width * place for place in range(int(count) + 1)])

    @classmethod
    def logarithmic(cls, low: Decimal, high: Decimal, per_decade: int) -> Buckets:
        """Buckets whose edges have one ratio, so many of them for each factor of 10.

        The edges are rounded to six significant digits, so they are the same on every machine.

        Raises:
            ValueError: ``low`` is not above 0, or there are too many buckets.
        """
        if low <= 0 or high <= low or per_decade < 1:
            raise ValueError("logarithmic buckets begin above 0, and rise")
        short = Context(prec=EDGE_DIGITS, rounding=ROUND_HALF_EVEN)
        edges: list[Decimal] = []
        for place in range(MAX_EDGES + 1):
            power = _WIDE.power(Decimal(10), _WIDE.divide(Decimal(place), Decimal(per_decade)))
            edges.append(short.plus(_WIDE.multiply(low, power)))
            if edges[-1] >= high:
                break
        return cls.from_edges(edges)

    def find(self, value: Decimal) -> int:
        """The number of the bucket of a value."""
        return bisect_right(self.edges, value)

    def get_bounds(self, bucket: int) -> tuple[Decimal | None, Decimal | None]:
        """The first value of a bucket, and the first one beyond it; None without a bound."""
        low = self.edges[bucket - 1] if bucket > 0 else None
        high = self.edges[bucket] if bucket < len(self.edges) else None
        return low, high


def find_percentile(counts: Mapping[int, int], share: Decimal) -> int | None:
    """The bucket with a percentile by nearest rank; None of nothing.

    ``counts``: items by bucket. ``share``: above 0, at most 1; 0.5 is the median.

    Raises:
        ValueError: the share is another number.
    """
    if not 0 < share <= 1:
        raise ValueError(f"a percentile is above 0 and at most 1, not {share}")
    count = sum(counts.values())
    if count < 1:
        return None
    rank = int((share * count).to_integral_value(rounding=ROUND_CEILING))
    passed = 0
    for bucket in sorted(counts):
        passed += counts[bucket]
        if passed >= rank:
            return bucket
    raise AssertionError("no rank is beyond all counts")
