"""The judge itself: it passes what may be seen, and refuses what may not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.possible_answers import ListTruth, RankingTruth, WrittenItems

OPEN = ListTruth(lambda row: row["status"] == "open")
REVENUE = RankingTruth("country", "amount")


def invoice(id: str, amount: int, status: str = "open", country: str = "jp") -> dict[str, Any]:
    return {"id": id, "amount": amount, "status": status, "country": country}


@pytest.fixture
def written() -> WrittenItems:
    """Two invoices that everything shows, and a third one that is being written."""
    items = WrittenItems()
    items.record("a", invoice("a", 1000))
    items.record("b", invoice("b", 2000, "paid"))
    items.settle()
    items.record("c", invoice("c", 5))
    return items


def total(country: str, count: int, amount: int) -> dict[str, Any]:
    return {"country": country, "count": count, "total": amount}


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [invoice("a", 1000), invoice("b", 2000, "paid")],
        [invoice("a", 1001)],
        [invoice("a", 1000), invoice("d", 1)],
    ],
    ids=["missing", "extra", "another value", "never written"],
)
def test_a_wrong_list_is_found(written: WrittenItems, rows: list[dict[str, Any]]) -> None:
    assert OPEN.find_fault(rows, written.copy_states()) is not None


def test_a_value_that_nobody_wrote_is_judged(written: WrittenItems) -> None:
    with_series = ListTruth(OPEN.holds, lambda row: row.get("series") == row["id"])
    states = written.copy_states()
    assert with_series.find_fault([{**invoice("a", 1000), "series": "a"}], states) is None
    assert with_series.find_fault([invoice("a", 1000)], states) is not None


def test_a_ranking_is_in_order(written: WrittenItems) -> None:
    written.record("c", invoice("c", 5, country="fr"))
    written.settle()
    rows = [total("jp", 2, 3000), total("fr", 1, 5)]
    assert REVENUE.find_fault(rows, written.copy_states()) is None
    assert REVENUE.find_fault(rows[::-1], written.copy_states()) is not None
