"""Figures from sums and counts, against fractions and sorted values."""

from __future__ import annotations

import math
import random
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import pytest

from daicho.derive.figures import (
    MAX_EDGES,
    PLACES,
    Buckets,
    compute_mean,
    compute_variance,
    find_percentile,
)

SHARES = tuple(map(Decimal, ("0.001", "0.25", "0.5", "0.9", "0.99", "1")))


def make_values(chance: random.Random) -> list[Decimal]:
    places = chance.choice((0, 2, 4))
    return [
        Decimal(chance.randrange(-(10**9), 10**9)).scaleb(-places)
        for _ in range(chance.randrange(1, 60))
    ]


@pytest.mark.parametrize("number", range(30))
def test_mean_and_variance_are_those_of_fractions(number: int) -> None:
    values = make_values(random.Random(number))
    exact = [Fraction(value) for value in values]
    mean = sum(exact, Fraction()) / len(exact)
    variance = sum(((value - mean) * (value - mean) for value in exact), Fraction()) / len(exact)
    half = Fraction(1, 2 * 10**PLACES)
    total, squares = sum(values, Decimal()), sum((value * value for value in values), Decimal())
    shown_mean = compute_mean(len(values), total)
    shown_variance = compute_variance(len(values), total, squares)
    assert shown_mean is not None
    assert shown_variance is not None
    assert abs(Fraction(shown_mean) - mean) <= half
    assert abs(Fraction(shown_variance) - variance) <= half
    assert shown_variance >= 0


def test_figures_of_nothing_and_of_one_value() -> None:
    assert compute_mean(0, Decimal(0)) is None
    assert compute_variance(0, Decimal(0), Decimal(0)) is None
    assert find_percentile({}, Decimal("0.5")) is None
    assert find_percentile({3: 0}, Decimal("0.5")) is None
    assert compute_variance(1, Decimal("1.1"), Decimal("1.21")) == 0


@pytest.mark.parametrize("number", range(20))
@pytest.mark.parametrize(
    "buckets",
    [
        Buckets.linear(Decimal(-1000), Decimal(1000), Decimal(100)),
        Buckets.logarithmic(Decimal(1), Decimal(10**9), 5),
        Buckets.from_edges([Decimal("0.5"), Decimal(3), Decimal(10**6)]),
    ],
    ids=["linear", "logarithmic", "explicit"],
)
def test_a_percentile_is_in_its_bucket(number: int, buckets: Buckets) -> None:
    values = sorted(make_values(random.Random(number)))
    counts = Counter(map(buckets.find, values))
    for share in SHARES:
        nearest = values[max(1, math.ceil(Fraction(share) * len(values))) - 1]
        bucket = find_percentile(counts, share)
        assert bucket is not None
        low, high = buckets.get_bounds(bucket)
        assert low is None or low <= nearest
        assert high is None or nearest < high


def test_logarithmic_edges_have_one_ratio() -> None:
    edges = Buckets.logarithmic(Decimal("0.01"), Decimal(100), 4).edges
    assert (edges[0], edges[4], edges[-1]) == (Decimal("0.01"), Decimal("0.1"), Decimal(100))
    ratios = [float(high / low) for low, high in pairwise(edges)]
    assert all(math.isclose(ratio, 10**0.25, rel_tol=1e-4) for ratio in ratios)


@pytest.mark.parametrize(
    "edges",
    [[], [1, 1], [2, 1], ["NaN"], ["Infinity"], list(range(MAX_EDGES + 1))],
)
def test_edges_that_make_no_buckets_are_refused(edges: list[object]) -> None:
    with pytest.raises(ValueError, match="edges"):
        Buckets.from_edges([Decimal(str(edge)) for edge in edges])


def test_widths_and_shares_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="does not divide"):
        Buckets.linear(Decimal(0), Decimal(10), Decimal(3))
    with pytest.raises(ValueError, match="at most"):
        Buckets.linear(Decimal(0), Decimal(10**6), Decimal(1))
    with pytest.raises(ValueError, match="above 0"):
        Buckets.linear(Decimal(0), Decimal(10), Decimal(0))
    with pytest.raises(ValueError, match="above 0"):
        Buckets.logarithmic(Decimal(0), Decimal(10), 3)
    for share in ("0", "-1", "1.01", "NaN"):
        with pytest.raises((ValueError, ArithmeticError)):
            find_percentile({1: 1}, Decimal(share))
