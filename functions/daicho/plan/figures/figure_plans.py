"""Figures of an aggregate besides the one that ranks its groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from daicho.runtime.frozen_dataclasses import dataclass

PART_PREFIX = "f."
"""How the attributes of a slot or a total that belong to figures begin."""
FigureKind = Literal["count", "sum", "mean", "variance", "percentiles", "min", "max"]


@dataclass(frozen=True)
class FigurePlan:
    """A figure. ``field``: what it measures, None for a count of items.

    ``edges``: of the buckets of percentiles, rising, each as the text of a decimal.
    """

    kind: FigureKind
    field: str | None = None
    edges: tuple[str, ...] = ()


@dataclass(frozen=True)
class MeasuredField:
    """What is added up of one field: always its count and its sum.

    ``edges``: of the buckets that are counted; empty for none. ``has_min``, ``has_max``: each item
    has a row in order of the value, whose first or last one is read.
    """

    field: str
    has_squares: bool = False
    edges: tuple[str, ...] = ()
    has_min: bool = False
    has_max: bool = False

    @property
    def has_rows(self) -> bool:
        """Whether items have rows in order of the value."""
        return self.has_min or self.has_max


def list_measured_fields(figures: Iterable[FigurePlan]) -> tuple[MeasuredField, ...]:
    """The fields that figures measure, in the order in which they first occur."""
    by_field: dict[str, list[FigurePlan]] = {}
    for figure in figures:
        if figure.field is not None:
            by_field.setdefault(figure.field, []).append(figure)
    return tuple(_combine(field, of_field) for field, of_field in by_field.items())


def _combine(field: str, figures: list[FigurePlan]) -> MeasuredField:
    kinds = {figure.kind for figure in figures}
    edges = next((figure.edges for figure in figures if figure.edges), ())
    return MeasuredField(field, "variance" in kinds, edges, "min" in kinds, "max" in kinds)
