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
    explicit,
    field,
    linear,
    logarithmic,
    uid,
)
from daicho.declare.registry import Daicho
from daicho.errors import DeclarationError
from daicho.plan import Ledger
from daicho.plan.figures.figure_plans import FigurePlan


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
