"""What archived rows add to aggregates that are newer than they are."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest

from daicho.archive.row_format import ArchivedRow
from daicho.derive.contributions import Amount
from daicho.layout.backfill_state import BackfillState
from daicho.plan import (
    AggregatePlan,
    EntityPlan,
    ExpiryPlan,
    Generation,
    KeyPlan,
    Ledger,
    NewerGenerationError,
    Part,
)
from daicho.rebuild.kept_amounts import select_lacking_rows, sum_rows
from daicho.rebuild.requests import plan_targets
from daicho.storage.attributes import to_image

EVER = AggregatePlan("ever", 2, "count", None, (Part("place"),), (), on_expiry="keep")
PAID = AggregatePlan("paid", 3, "sum", "paid", (), (), on_expiry="keep")
LIVING = AggregatePlan("living", 1, "count", None, (), ())
FIRST = EntityPlan(
    "Visit",
    {"id": "str", "place": "str", "paid": "int"},
    KeyPlan(("id",), ()),
    aggregates=(LIVING,),
    expires=ExpiryPlan(60, archive=True),
)
SECOND = replace(FIRST, aggregates=(LIVING, EVER))
THIRD = replace(FIRST, aggregates=(LIVING, EVER, PAID))
BOTH = frozenset({("ever", 2), ("paid", 3)})


def number(*plans: EntityPlan) -> Ledger:
    return Ledger({"Visit": tuple(Generation(n, plan) for n, plan in enumerate(plans, 1))})


LEDGER = number(FIRST, SECOND, THIRD)


def build_row(seq: str, gen: int | None, **values: Any) -> ArchivedRow:
    item = to_image(
        {"PK": f"t#Visit#{seq}", "SK": "-", "type": "Visit", "place": "a", "paid": 5, **values}
    )
    at = dt.datetime(2026, 11, 21, tzinfo=dt.UTC)
    return ArchivedRow("t", "Visit", gen, at, seq, False, item)


def add(*rows: ArchivedRow, restored: dict[str, int] | None = None) -> Any:
    lacking = select_lacking_rows(rows, BOTH, LEDGER)
    return sum_rows(lacking, restored or {}, THIRD, BOTH, LEDGER)


def test_a_row_is_added_to_what_its_own_generation_lacks() -> None:
    sums = add(build_row("1", 1), build_row("2", 1), build_row("3", 2), build_row("4", 3))
    assert (sums.rows, sums.left) == (3, {})
    assert sums.amounts == {
        ("ever", 2): {"t#+Visit.ever#2#a": Amount(2, 2)},  # type: ignore[arg-type]
        ("paid", 3): {"t#+Visit.paid#3": Amount(3, 15)},  # type: ignore[arg-type]
    }


def test_a_row_that_cannot_be_derived_is_named_and_the_rest_is_added() -> None:
    sums = add(build_row("1", 1, place="x" * 3000), build_row("2", 1))
    assert sums.amounts["ever", 2] == {"t#+Visit.ever#2#a": Amount(1, 1)}  # type: ignore[arg-type]
    ((key, reason),) = sums.left.items()
    assert key == "t#Visit#1 -"
    assert reason.startswith("KeyTooLongError")


def test_a_row_of_newer_code_is_not_judged() -> None:
    with pytest.raises(NewerGenerationError):
        select_lacking_rows([build_row("1", 4)], BOTH, LEDGER)


def test_what_lacks_archived_items_alone_needs_a_rebuild() -> None:
    state = BackfillState("Visit", 3, 3, lacking=frozenset({"ever@2"}))
    assert plan_targets(LEDGER, {"Visit": state}) == {"Visit": 3}
    unarchived = number(replace(FIRST, expires=ExpiryPlan(60, archive=False)), SECOND, THIRD)
    assert plan_targets(unarchived, {"Visit": state}) == {}
    assert plan_targets(LEDGER, {"Visit": BackfillState("Visit", 3, 3)}) == {}
