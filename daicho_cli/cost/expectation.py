"""Expected numbers of distinct groups: how many of some groups a batch of records touches."""

from __future__ import annotations

from math import exp, log1p


def count_distinct(groups: float, draws: float) -> float:
    """The expected number of distinct groups among ``draws`` even draws of ``groups`` groups.

    Fractions are accepted: half a draw touches half a group.
    """
    if groups <= 0 or draws <= 0:
        return 0.0
    if groups <= 1:
        return min(1.0, draws)
    if draws <= 1:
        return draws
    return groups * (1 - exp(draws * log1p(-1 / groups)))
