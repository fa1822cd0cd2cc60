"""The picture of a bill."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

from daicho_cli.cost.report import CostReport, render_svg
from tests.unit.daicho_cli.cost.test_report import make_report

SVG = "{http://www.w3.org/2000/svg}"


def read_text(report: CostReport) -> str:
    """All text of the picture, with plain spaces."""
    root = ET.fromstring(render_svg(report))  # noqa: S314  # written above
    texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    return "\n".join(texts).replace("\u00a0", " ")


def test_each_service_and_the_dearest_declarations_have_a_bar() -> None:
    text = read_text(make_report())
    for name in ("CloudWatch", "DynamoDB", "Lambda", "Product item: create", "By service"):
        assert name in text
    assert "█" in text


def test_a_comparison_has_two_bars_for_each_and_both_titles() -> None:
    report = make_report(compared=True)
    text = read_text(report)
    assert {"one million", "two million"} <= {line.strip() for line in text.splitlines()}
    assert text.count("$") > 1.5 * read_text(make_report()).count("$")


def test_the_same_bill_makes_the_same_picture_and_titles_are_escaped() -> None:
    report = make_report()
    assert render_svg(report) == render_svg(make_report())
    assert "url(" not in render_svg(report)  # a reader's browser fetches nothing
    assert "a < b & c" in read_text(replace(report, title="a < b & c"))
