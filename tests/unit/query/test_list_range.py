"""The sort keys of a range, and the ranges that a list does not have."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho.declare.compiler import compile_entity
from daicho.declare.queries import ListQuery
from daicho.errors import Invalid
from daicho.query.list_range import ListOrder
from daicho.storage.requests import KeyRange
from tests.support.shelves_and_events import Event, Shelf

DAY = dt.date(2026, 11, 21)
NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
ROWS = Shelf.key.all("h")
EVENTS = Event.latest("s")


def render(query: ListQuery[Any], *fields: str, head: str = "") -> KeyRange:
    return ListOrder(compile_entity(query.entity), query, fields, head).compute_range()


def test_a_day_is_all_of_its_instants() -> None:
    expected = KeyRange("2026-11-21", "2026-11-22", is_open=True)
    for day in (DAY, "2026-11-21"):
        assert render(EVENTS.between(day, day), "created_at") == expected
    noon = "2026-11-21T12:00:00.000000Z"
    for moment in (NOON, noon, NOON.astimezone(dt.timezone(dt.timedelta(hours=9)))):
        assert render(EVENTS.between(moment, moment), "created_at") == KeyRange(noon, f"{noon}$")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        (ROWS.between("x", None), "from"),
        (ROWS.between(None, 1.5), "to"),
        (ROWS.between(None, 10**19), "to"),
        (ROWS.between(2, 1), "to"),
        (ROWS.between((1, "b"), (1, "a")), "to"),
        (ROWS.between((1, "\ud800"), None), "from"),
        (ROWS.between(None, (1, "a" * 1_024)), "to"),
        (ROWS.between((1, 5), None), "from"),
    ],
)
def test_bounds_that_are_refused(query: ListQuery[Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        render(query, "row", "place")
    assert refused.value.field == field


@pytest.mark.parametrize("moment", [dt.datetime(2026, 11, 21), "noon", "2026-13-01", 1.5])  # noqa: DTZ001
def test_instants_that_are_refused(moment: object) -> None:
    with pytest.raises(Invalid) as refused:
        render(EVENTS.between(moment, None), "created_at")
    assert refused.value.field == "from"


def test_ranges_that_a_list_does_not_have() -> None:
    with pytest.raises(TypeError, match="it has no range"):
        render(ROWS.between(1, 2))
    with pytest.raises(TypeError, match="a bound has 1 to 1 values, not 2"):
        render(ROWS.between((1, "a"), None), "row")
    with pytest.raises(TypeError, match="a bound has 1 to 1 values, not 0"):
        render(ROWS.between((), None), "row")
    with pytest.raises(TypeError, match="ordered by row, which is no text"):
        render(ROWS.starting_with("1"), "row")
    with pytest.raises(TypeError, match="not ordered by an instant"):
        ListOrder(compile_entity(Shelf), ROWS.last(dt.timedelta(1)), ("row",)).compute_window(0)


def test_a_prefix_and_a_range_have_what_both_have() -> None:
    query = ROWS.between("ab", None).starting_with("a")
    assert render(query, "place") == KeyRange("ab", "b", is_open=True)
    assert render(ROWS.starting_with("#"), "place") == KeyRange("$23", "$24", is_open=True)
