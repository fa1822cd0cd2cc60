"""Every figure of some sales equals DuckDB's; `make bench-figures` compares 50,000 of them."""

from __future__ import annotations

from tests.support.judged_sales.checks import FigureChecks
from tests.support.judged_sales.declarations import LEDGER, LORD_HOWE, Sale
from tests.support.judged_sales.judge import Judge
from tests.support.judged_sales.sales import SHOPS, apply_changes, draw_changes, draw_sales
from tests.support.judged_sales.store import SalesStore


def test_every_figure_equals_that_of_duckdb(dynamo: str) -> None:
    store = SalesStore(dynamo, LEDGER)
    sales = draw_sales(300, 7)
    assert list(store.load(Sale, sales)) == [300]
    deleted, edited = draw_changes(sales, 0.2, 8)
    store.change(Sale, deleted, edited)
    checks = FigureChecks(
        store.book, Judge(apply_changes(sales, deleted, edited)), (2025,), SHOPS[:1]
    )
    checks.compare_scores()
    checks.compare_zone(LORD_HOWE)
    comparison = checks.comparison
    assert comparison.examples == []
    assert min(comparison.compared.values()) > 100
    assert len(comparison.compared) == 12
