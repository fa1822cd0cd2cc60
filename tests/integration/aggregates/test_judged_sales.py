"""Every figure of some sales equals DuckDB's; `make bench-figures` compares 50,000 of them."""

from __future__ import annotations

from decimal import Decimal

from daicho.storage.requests import Scan
from daicho.storage.table import Table
from daicho.tally.total_items import TOTAL_SORT_KEY
from daicho.testing import MemoryDeployment
from tests.support.judged_sales.checks import FigureChecks
from tests.support.judged_sales.declarations import LEDGER, LORD_HOWE, Sale
from tests.support.judged_sales.judge import Judge
from tests.support.judged_sales.sales import SHOPS, apply_changes, draw_changes, draw_sales


def test_every_figure_equals_that_of_duckdb() -> None:
    sales = draw_sales(150, 7)
    deleted, edited = draw_changes(sales, 0.2, 8)
    deployment = MemoryDeployment(LEDGER)
    book = deployment.open_book()
    for sale in sales:
        book.create(Sale(**vars(sale)))
    deployment.catch_up()
    for sale in deleted:
        book.delete(Sale.key(sale.id))
    for sale in edited:
        book.put(Sale(**vars(sale)))
    deployment.catch_up()
    judge = Judge(apply_changes(sales, deleted, edited))
    # The clock of the zone is set in April.
    checks = FigureChecks(book, judge, (2025,), SHOPS[:1], hours_of=4, ranges=10)
    checks.compare_scores()
    checks.compare_zone(LORD_HOWE)
    checks.compare_weeks_from_sunday(SHOPS[0])
    comparison = checks.comparison
    assert comparison.examples == []
    assert min(comparison.compared.values()) > 100
    assert len(comparison.compared) == 12
    # Without this, a comparison that finds nothing would prove nothing.
    damage_totals(deployment.table, Sale.by_shop.declaration.name)
    checks.compare_scores()
    kinds = {kind for kind, different in comparison.different.items() if different}
    assert kinds >= {"count", "sum", "mean", "variance", "histogram bucket"}


def damage_totals(table: Table, aggregate: str) -> None:
    """Add 1 to each part of the totals of an aggregate, and to their bases: reads see no damage."""
    for item in table.scan(Scan()).items:
        if item["SK"]["S"] == TOTAL_SORT_KEY and f".{aggregate}#" in item["PK"]["S"]:
            parts = {name: value for name, value in item.items() if name.startswith("f.")}
            assert parts
            more = {name: {"N": str(Decimal(value["N"]) + 1)} for name, value in parts.items()}
            nothing = {"base_items": {"N": "0"}, "base_total": {"N": "0"}}
            base = nothing | {f"base_{name}": {"N": "1"} for name in parts}
            table.put({**item, **more, **base})
