"""Tables and JSON of a bill."""

from __future__ import annotations

import pytest

from daicho_cli.cost.bill import compute_bill, compute_idle_bill
from daicho_cli.cost.prices import load_prices
from daicho_cli.cost.report import CostReport, format_dollars, print_report
from daicho_cli.cost.traffic import parse_traffic
from tests.unit.daicho_cli.cost.shop import LEDGER

EXAMPLE = {"title": "chair", "price": "24.90"}
PRICES = load_prices()


def make_report(*, compared: bool = False) -> CostReport:
    """The bill of a million products, and of two million."""
    bills = [
        compute_bill(
            LEDGER,
            parse_traffic({"entities": {"Product": {"creates": count, "examples": [EXAMPLE]}}}),
            PRICES,
        )
        for count in (1_000_000, 2_000_000)
    ]
    idle = compute_idle_bill(LEDGER, PRICES)
    if not compared:
        return CostReport(bills[0], idle, "one million")
    return CostReport(bills[0], idle, "one million", bills[1], "two million")


def print_text(report: CostReport, capsys: pytest.CaptureFixture[str]) -> str:
    print_report(report)
    return capsys.readouterr().out


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


def test_a_comparison_has_both_sums_and_the_difference(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = make_report(compared=True)
    assert report.other is not None
    text = print_text(report, capsys)
    assert format_dollars(report.other.dollars) in text
    assert f"{report.other.dollars - report.bill.dollars:+,.2f}" in text
