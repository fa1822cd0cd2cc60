"""What one item adds to the parts of an aggregate with several figures."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from daicho import Aggregate, Count, Domain, Entity, Key, field, uid
from daicho.declare.registry import Daicho
from daicho.derive.contributions import Amount, compute_contributions
from daicho.layout.item_keys import UnderivableError
from daicho.plan import AggregatePlan, EntityPlan, Ledger
from daicho.plan.figures.figure_plans import FigurePlan, MeasuredField, list_measured_fields
from tests.support.sample_ledger import build_image


class Sale(Entity):
    id: str = uid()
    shop: str = field()
    price: Decimal | None = None
    weight: int | None = None

    key = Key(id)
    by_shop = Aggregate(Count(), shop)


LEDGER = Daicho(Domain("sales", Sale)).append_generations(Ledger())
EDGES = ("0", "10", "100.5")
FIGURES = (
    FigurePlan("mean", "price"),
    FigurePlan("variance", "price"),
    FigurePlan("sum", "weight"),
    FigurePlan("percentiles", "price", EDGES),
)


def make_plan(**changed: Any) -> EntityPlan:
    plan = LEDGER.current_generation("Sale").plan
    (aggregate,) = plan.aggregates
    return replace(plan, aggregates=(replace(aggregate, **changed),))


def compute(plan: EntityPlan, **values: Any) -> Amount:
    given = {"id": "1", "shop": "a", "version": 1, **values}
    amounts = compute_contributions(plan, build_image("Sale", given, gen=1, ledger=LEDGER))
    (amount,) = amounts.values() or (Amount(),)
    return amount


def test_the_fields_of_figures_are_measured_once() -> None:
    assert list_measured_fields(FIGURES) == (
        MeasuredField("price", True, EDGES),
        MeasuredField("weight"),
    )


def test_each_value_is_added_to_its_parts() -> None:
    plan = make_plan(figures=FIGURES)
    assert compute(plan, price=Decimal("10.5"), weight=3) == Amount(
        1,
        Decimal(1),
        tuple(
            (name, Decimal(value))
            for name, value in (
                ("h0.2", "1"),
                ("n0", "1"),
                ("n1", "1"),
                ("q0", "110.25"),
                ("s0", "10.5"),
                ("s1", "3"),
            )
        ),
    )
    assert compute(plan, weight=0).parts == (("n1", Decimal(1)),)
    assert compute(plan).parts == ()


def test_a_group_without_the_ranking_value_still_has_its_other_figures() -> None:
    plan = make_plan(measure="sum", field="weight", figures=(FigurePlan("count"), FIGURES[0]))
    amount = compute(plan, price=Decimal(2))
    assert amount.items == 0
    assert not amount.total
    assert amount.parts == (("c", Decimal(1)), ("n0", Decimal(1)), ("s0", Decimal(2)))


@pytest.mark.parametrize("price", ["1" * 15, "0.123456789012345", "1E+14"])
def test_a_variance_limits_the_digits(price: str) -> None:
    with pytest.raises(UnderivableError):
        compute(make_plan(figures=FIGURES), price=Decimal(price))


def test_a_plan_keeps_its_figures_and_an_older_one_reads_as_before() -> None:
    plan = make_plan(figures=FIGURES)
    plain = plan.to_json()
    assert EntityPlan.from_json(plain) == plan
    assert plain["aggregates"][0]["figures"][3]["edges"] == [*EDGES]
    without = make_plan().to_json()
    assert "figures" not in without["aggregates"][0]
    assert AggregatePlan.figures == ()
