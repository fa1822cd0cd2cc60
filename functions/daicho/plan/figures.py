"""Figures of an aggregate besides the one that ranks its groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from daicho.runtime.frozen_dataclasses import dataclass

FigureKind = Literal["count", "sum", "mean", "variance", "percentiles"]


@dataclass(frozen=True)
class FigurePlan:
    """A figure. ``field``: what it measures, None for a count of items.

    ``edges``: of the buckets of percentiles, rising, each as the text of a decimal.
    """

    kind: FigureKind
    field: str | None = None
    edges: tuple[str, ...] = ()

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> FigurePlan:
        """Read a figure of a lock file."""
        return cls(data["kind"], data.get("field"), tuple(data.get("edges", ())))


@dataclass(frozen=True)
class MeasuredField:
    """What is added up of one field: always its count and its sum.

    ``edges``: of the buckets that are counted; empty for none.
    """

    field: str
    has_squares: bool = False
    edges: tuple[str, ...] = ()


def list_measured_fields(figures: Iterable[FigurePlan]) -> tuple[MeasuredField, ...]:
    """The fields that figures measure, in the order in which they first occur."""
    squares: dict[str, bool] = {}
    edges: dict[str, tuple[str, ...]] = {}
    for figure in figures:
        if figure.field is not None:
            squares[figure.field] = squares.get(figure.field, False) or figure.kind == "variance"
            edges[figure.field] = edges.get(figure.field, ()) or figure.edges
    return tuple(MeasuredField(field, squares[field], edges[field]) for field in squares)
