"""Tables and JSON of a bill."""

from __future__ import annotations

import json

import pytest

from daicho_cli.cost.bill import compute_bill, compute_idle_bill
from daicho_cli.cost.prices import load_prices
from daicho_cli.cost.report import (
    CostReport,
    build_document,
    format_dollars,
    print_report,
    sum_declarations,
)
from daicho_cli.cost.traffic import parse_traffic
from daicho_cli.cost.units import Units
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


def test_the_tables_have_declarations_and_services(capsys: pytest.CaptureFixture[str]) -> None:
    text = print_text(make_report(), capsys)
    assert "Product item: create" in text
    assert "1,000,000" in text
    assert "$0.62" in text or "$0.63" in text
    assert "Bill of 30 days: one million" in text
    assert "API Gateway: requests" in text
    assert "us-east-1, prices of 2026-08-15, before any free tier; of the sum, $5.94" in text
    assert "difference" not in text


def test_a_comparison_has_both_sums_and_the_difference(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = make_report(compared=True)
    assert report.other is not None
    text = print_text(report, capsys)
    assert format_dollars(report.other.dollars) in text
    assert f"{report.other.dollars - report.bill.dollars:+,.2f}" in text


def test_the_document_is_json_and_adds_up() -> None:
    document = json.loads(json.dumps(build_document(make_report(compared=True))))
    assert document["region"] == "us-east-1"
    assert document["prices"]["published"] == "2026-08-15"
    assert document["dollars"] == pytest.approx(sum(document["services"].values()))
    assert document["dollars"] == pytest.approx(sum(i["dollars"] for i in document["items"]))
    assert document["idle_dollars"] == pytest.approx(5.94, abs=0.01)
    create = next(d for d in document["declarations"] if d["declaration"] == "item: create")
    assert create == {
        "entity": "Product", "declaration": "item: create", "work": "items", "count": 1e6,
        "write_units": 1e6, "read_units": 0.0, "dollars": 0.625,
    }  # fmt: skip
    difference = document["against"]["dollars"] - document["dollars"]
    assert document["difference_dollars"] == pytest.approx(difference)
    assert document["against"]["traffic"] == "two million"
    assert "against" not in build_document(make_report())


def test_declarations_are_summed_with_the_stack_at_the_end() -> None:
    sums = sum_declarations(make_report().bill)
    assert next(reversed(sums)) == ("stack", "rollup")
    assert sums["Product", "item: create"] == Units(write=1e6)


@pytest.mark.parametrize(
    ("dollars", "text"), [(0, "$0.00"), (0.001, "<$0.01"), (0.005, "$0.01"), (1234.5, "$1,234.50")]
)
def test_dollars(dollars: float, text: str) -> None:
    assert format_dollars(dollars) == text
