"""Ranges of numbers as groups: an edge begins a range. Pure.

A range has a label, which is a component of a key and of a path: ``10..100``. The lowest range has
no lower bound, ``..0``, and the highest no upper one, ``100..``.
"""

from __future__ import annotations

from bisect import bisect_right
from decimal import Decimal
from functools import lru_cache

Edges = tuple[str, ...]
"""Rising decimals, each as plain text."""
BETWEEN = ".."


@lru_cache(maxsize=256)
def list_range_labels(edges: Edges) -> tuple[str, ...]:
    """The labels of all ranges, lowest first."""
    bounds = ("", *edges, "")
    return tuple(f"{bounds[n]}{BETWEEN}{bounds[n + 1]}" for n in range(len(edges) + 1))


def find_range(edges: Edges, value: Decimal) -> str:
    """The label of the range that has a number."""
    return list_range_labels(edges)[bisect_right(_parse_edges(edges), value)]


@lru_cache(maxsize=256)
def _parse_edges(edges: Edges) -> tuple[Decimal, ...]:
    return tuple(map(Decimal, edges))
