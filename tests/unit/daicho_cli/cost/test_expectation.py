"""The expected number of distinct groups, against a plain simulation."""

from __future__ import annotations

import random
from statistics import fmean

import pytest

from daicho_cli.cost.expectation import count_distinct


@pytest.mark.parametrize(("groups", "draws"), [(10, 5), (100, 1_000), (1_000, 1_000), (3, 2)])
def test_it_is_what_draws_give_on_average(groups: int, draws: int) -> None:
    source = random.Random(1)
    drawn = [len({source.randrange(groups) for _ in range(draws)}) for _ in range(300)]
    assert count_distinct(groups, draws) == pytest.approx(fmean(drawn), rel=0.02)


def test_a_thousand_draws_of_a_thousand_groups_touch_632() -> None:
    assert round(count_distinct(1_000, 1_000)) == 632  # docs/benchmarks/counting.md


def test_less_than_one_of_either() -> None:
    assert count_distinct(0, 5) == count_distinct(5, 0) == 0
    assert count_distinct(1, 0.25) == 0.25
    assert count_distinct(1, 7) == 1
    assert count_distinct(10, 0.5) == 0.5
