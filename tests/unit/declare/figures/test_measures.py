"""Declarations of several figures: compiled to plans, and wrong ones refused in words."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from daicho import (
    Aggregate,
    Count,
    Domain,
    Entity,
    Key,
    Mean,
    Percentiles,
    Sum,
    Variance,
    day,
    explicit,
    field,
    linear,
    logarithmic,
    uid,
    year,
)
from daicho.declare.registry import Daicho
from daicho.errors import DeclarationError
from daicho.plan import Ledger
from daicho.plan.figures.figure_plans import FigurePlan

FIELDS: list[Any] = [field() for _ in range(50)]
AT: Any = field()


def declare(*figures: Any) -> Daicho:
    class Sale(Entity):
        id: str = uid()
        shop: str = field()
        price: Decimal = field()

        key = Key(id)
        by_shop = Aggregate(make_figures(figures, price), shop)

    return Daicho(Domain("sales", Sale))


def make_figures(makers: Any, price: Any) -> Any:
    """One figure alone, or several as a tuple."""
    figures = tuple(make(price) for make in makers)
    return figures if len(figures) > 1 else figures[0]


def count(_: Any) -> Count:
    return Count()


def percentiles(of: Any) -> Percentiles:
    return Percentiles(of, explicit(1, "2.5", 10))


def test_the_first_figure_ranks_and_the_others_are_compiled() -> None:
    ledger = declare(count, Mean, Variance, percentiles).append_generations(Ledger())
    (aggregate,) = ledger.current_generation("Sale").plan.aggregates
    assert (aggregate.measure, aggregate.field) == ("count", None)
    assert aggregate.figures == (
        FigurePlan("mean", "price"),
        FigurePlan("variance", "price"),
        FigurePlan("percentiles", "price", ("1", "2.5", "10")),
    )


def test_another_figure_is_another_instance_and_the_same_is_not() -> None:
    first = declare(count).append_generations(Ledger())
    assert declare(count).append_generations(first) == first
    more = declare(count, Mean).append_generations(first)
    (aggregate,) = more.current_generation("Sale").plan.aggregates
    assert aggregate.since == 2
    assert declare(count, Mean).append_generations(more) == more


@pytest.mark.parametrize(
    ("figures", "message"),
    [
        ((Mean,), "ranked by"),
        ((Mean, count), "ranked by"),
        ((Sum, Mean, Mean), "twice"),
        ((count, lambda _: "mean"), "write Count"),
        ((count, lambda price: Percentiles(price, None)), "take buckets"),  # type: ignore[arg-type]
    ],
)
def test_wrong_figures_are_refused(figures: Any, message: str) -> None:
    with pytest.raises((DeclarationError, RuntimeError)) as error:
        declare(*figures)
    assert message in str(error.value) or message in str(error.value.__cause__)


@pytest.mark.parametrize(
    ("figures", "series", "message"),
    [
        # 50 fields with a count and a sum: 100 numbers, of the old and of the new image.
        ((Count(), *map(Mean, FIELDS)), None, None),
        ((Sum(FIELDS[0]), *map(Mean, FIELDS), Count()), None, "adds to up to 202 numbers"),
        # In a series also the bucket, with its items and their total.
        ((Count(), *map(Mean, FIELDS[:24])), year(AT), None),
        ((Count(), *map(Mean, FIELDS[:25])), year(AT), "adds to up to 204 numbers"),
        # 7 times 201 buckets of percentiles; the 8th is too many.
        ((Count(), *(Percentiles(each, linear(0, 199, 1)) for each in FIELDS[:7])), None, None),
        (
            (Count(), *(Percentiles(each, linear(0, 199, 1)) for each in FIELDS[:8])),
            None,
            "a group has up to 1,626 numbers",
        ),
        ((Count(), *map(Variance, FIELDS[:14])), day(AT), None),
        ((Count(), *map(Variance, FIELDS[:15])), day(AT), "a month of this series has up to 1,504"),
    ],
)
def test_figures_have_as_many_numbers_as_one_write_and_one_item_take(
    figures: tuple[Any, ...], series: Any, message: str | None
) -> None:
    if message is None:
        Aggregate(figures, series=series)
        return
    with pytest.raises(DeclarationError, match=message):
        Aggregate(figures, series=series)


def test_buckets_are_of_exact_numbers() -> None:
    assert linear(0, "1.5", "0.5").edges == tuple(map(Decimal, ("0", "0.5", "1.0", "1.5")))
    assert len(logarithmic(1, 1_000, 10).edges) == 31
    wrong: list[Any] = [
        lambda: linear(0, 1, "0.3"),
        lambda: logarithmic(0, 1),
        lambda: explicit(2, 1),
        explicit,
        lambda: explicit(0.5),  # type: ignore[arg-type]
        lambda: explicit("many"),
    ]
    for make in wrong:
        with pytest.raises(DeclarationError):
            make()
