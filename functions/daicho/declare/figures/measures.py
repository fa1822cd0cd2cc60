"""Figures of a group: counts, sums, means, variances, percentiles, smallest and largest values.

One ``Aggregate`` may have several. They share a slot and a total, so all of them cost what the
first one costs: one write for each batch, one read for a group. ``Min`` and ``Max`` cost more:
see `Min`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from daicho.declare.parts import get_spec
from daicho.derive.figures import Buckets
from daicho.errors import DeclarationError
from daicho.plan.figures.figure_plans import FigureKind
from daicho.runtime.frozen_dataclasses import dataclass

Number = int | str | Decimal


@dataclass(frozen=True)
class Count:
    """Count items."""


class FieldFigure:
    """A figure of a field of numbers."""

    def __init__(self, field: Any) -> None:
        self.field = field


class Sum(FieldFigure):
    """Add up a field of whole numbers or exact decimals."""


class Mean(FieldFigure):
    """The mean of a field of numbers, over the items that have a value.

    It is computed from the exact sum, and rounded half to even to 12 places behind the point.
    """


class Variance(FieldFigure):
    """The variance of a field of numbers, over all items of the group that have a value.

    It is computed from exact sums, and rounded half to even to 12 places behind the point. A value
    may have at most 14 digits. The standard deviation is its square root.
    """


class Min(FieldFigure):
    """The smallest value of a field of numbers; exact, also after edits and deletions.

    Each item has a row in order of its value: two write units when it is inserted or deleted,
    three when its value changes. ``Min`` and ``Max`` of a field share the rows. A read takes half
    a read unit more for each of the two. The rows of an item end with it, so the entity does not
    expire, or the aggregate subtracts what expires.
    """


class Max(FieldFigure):
    """The largest value of a field of numbers; see `Min`."""


class Percentiles(FieldFigure):
    """Percentiles of a field of numbers, by buckets.

    A percentile is answered by the bounds of the bucket that has it. So it is exact to the width
    of one bucket, at any number of items. The edges of buckets are declared with `linear`,
    `logarithmic` or `explicit`. An edge begins a bucket. Values below the first edge, and those
    from the last edge on, have buckets without a bound.

    Source of the rank: nearest rank, as in ISO 16269-4.
    """

    def __init__(self, field: Any, buckets: Buckets) -> None:
        if not isinstance(buckets, Buckets):
            raise DeclarationError(
                f"percentiles take buckets, not {buckets!r}; write linear(0, 100, 5), "
                "logarithmic(1, 10_000, 10) or explicit(1, 5, 30)"
            )
        super().__init__(field)
        self.buckets = buckets


Figure = Count | FieldFigure
KINDS: dict[type[Any], FigureKind] = {
    Count: "count",
    Sum: "sum",
    Mean: "mean",
    Variance: "variance",
    Percentiles: "percentiles",
    Min: "min",
    Max: "max",
}


def linear(low: Number, high: Number, width: Number) -> Buckets:
    """Buckets of one width from ``low`` to ``high``; the width divides their difference.

    Raises:
        DeclarationError: it does not, or there are over 200 edges.
    """
    try:
        return Buckets.linear(_parse(low), _parse(high), _parse(width))
    except ValueError as error:
        raise DeclarationError(f"{error}; write linear(0, 100, 5)") from None


def logarithmic(low: Number, high: Number, per_decade: int = 10) -> Buckets:
    """Buckets whose edges have one ratio: ``per_decade`` of them for each factor of 10.

    With 10 a bucket's upper bound is 26 % above its lower one.

    Raises:
        DeclarationError: ``low`` is not above 0, or there are over 200 edges.
    """
    try:
        return Buckets.logarithmic(_parse(low), _parse(high), per_decade)
    except ValueError as error:
        raise DeclarationError(f"{error}; write logarithmic(1, 10_000, 10)") from None


def explicit(*edges: Number) -> Buckets:
    """Buckets with these edges, which rise.

    Raises:
        DeclarationError: they do not, or there are over 200.
    """
    try:
        return Buckets.from_edges([_parse(edge) for edge in edges])
    except ValueError as error:
        raise DeclarationError(f"{error}; write explicit(1, 5, 30)") from None


def resolve_figures(given: Any) -> tuple[Count | Sum, tuple[Figure, ...]]:
    """The figure that ranks the groups of an aggregate, and the others.

    Raises:
        DeclarationError: the first one is neither ``Count()`` nor ``Sum(field)``, or one is given
            twice.
    """
    figures = tuple(map(_resolve, given if isinstance(given, tuple) else (given,)))
    if not figures or not isinstance(figures[0], Count | Sum):
        raise DeclarationError(
            "the first figure of an Aggregate is what its groups are ranked by; "
            "put Count() or Sum(field) first"
        )
    names = [(type(figure), getattr(figure, "field", None)) for figure in figures]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise DeclarationError(f"{repeated[0].__name__} is declared twice; remove one of the two")
    return figures[0], figures[1:]


def _resolve(figure: Any) -> Figure:
    """A figure with the field that its bare name denotes."""
    if isinstance(figure, Count):
        return figure
    if isinstance(figure, Percentiles):
        return Percentiles(get_spec(figure.field), figure.buckets)
    if isinstance(figure, FieldFigure):
        return type(figure)(get_spec(figure.field))
    raise DeclarationError(
        f"an Aggregate takes figures, not {figure!r}; write Count(), Sum(field), Mean(field), "
        "Variance(field), Min(field), Max(field) or Percentiles(field, buckets)"
    )


def _parse(number: Number) -> Decimal:
    if isinstance(number, bool) or not isinstance(number, int | str | Decimal):
        raise DeclarationError(
            f"the edges of buckets are whole numbers or exact decimals, not {number!r}; "
            "write decimals as text: '0.5'"
        )
    try:
        return Decimal(number)
    except ArithmeticError:
        raise DeclarationError(
            f"{number!r} is no number; write a decimal as text, such as '0.5'"
        ) from None
