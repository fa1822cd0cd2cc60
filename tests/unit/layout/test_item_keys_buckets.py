"""Time buckets of images: by declaration, zone and weekday; older lock files read as before."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho import (
    Aggregate,
    Count,
    Domain,
    Entity,
    Key,
    Sum,
    day,
    field,
    hour,
    month,
    quarter,
    uid,
    week,
    year,
)
from daicho.declare.registry import Daicho
from daicho.errors import DeclarationError, Invalid
from daicho.items.arguments import render_parts
from daicho.plan import Ledger

BERLIN, SYDNEY = "Europe/Berlin", "Australia/Sydney"


class Sale(Entity):
    id: str = uid()
    at: dt.datetime = field()
    due: dt.date = field()
    price: int = field()

    key = Key(id)
    by_hour = Aggregate(Count(), hour(at, BERLIN))
    by_day = Aggregate(Sum(price), day(at, BERLIN))
    by_day_utc = Aggregate(Count(), day(at))
    by_week = Aggregate(Count(), week(at, SYDNEY, first_weekday="sunday"))
    by_quarter = Aggregate(Count(), quarter(due))
    by_year = Aggregate(Count(), year(at, BERLIN))
    by_month = Aggregate(Count(), month(at))


LEDGER = Daicho(Domain("sales", Sale)).append_generations(Ledger())
PLAN = LEDGER.current_generation("Sale").plan


@pytest.mark.parametrize(
    ("name", "value", "group"),
    [
        ("by_hour", "2026-12-31T23:00Z", "2026-12-31T23:00Z"),
        ("by_week", "2026-12-27", "2026-12-27"),
        ("by_quarter", "2026-Q4", "2026-Q4"),
        ("by_quarter", dt.date(2026, 12, 31), "2026-Q4"),
        ("by_year", "2027", "2027"),
        ("by_day", dt.datetime(2026, 12, 31, 23, 30, tzinfo=dt.UTC), "2027-01-01"),
    ],
)
def test_a_group_is_named_by_its_label_or_by_an_instant(name: str, value: Any, group: str) -> None:
    (aggregate,) = (each for each in PLAN.aggregates if each.name == name)
    assert render_parts(Sale, PLAN, aggregate.by, (value,)) == (group,)


@pytest.mark.parametrize(
    ("name", "value"),
    [("by_week", "2026-12-28"), ("by_hour", "2026-12-31T23:30Z"), ("by_day", "2026-02-30")],
)
def test_a_label_that_no_bucket_has_is_refused(name: str, value: str) -> None:
    (aggregate,) = (each for each in PLAN.aggregates if each.name == name)
    with pytest.raises(Invalid):
        render_parts(Sale, PLAN, aggregate.by, (value,))


def test_wrong_declarations_name_what_to_write() -> None:
    class Wrong(Entity):
        id: str = uid()
        due: dt.date = field()
        key = Key(id)
        by_day = Aggregate(Count(), month(due, BERLIN))

    with pytest.raises(DeclarationError, match=r"without the zone"):
        Daicho(Domain("wrong", Wrong)).append_generations(Ledger())
    with pytest.raises(DeclarationError, match="Europe/Berlin"):
        month(Wrong.due, "Mars/Olympus")
    with pytest.raises(DeclarationError, match="monday"):
        week(Wrong.due, first_weekday="someday")  # type: ignore[arg-type]
