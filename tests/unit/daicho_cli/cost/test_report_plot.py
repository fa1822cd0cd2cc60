"""The picture of a bill."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

from daicho_cli.cost.report import CostReport, render_svg
from tests.unit.daicho_cli.cost.test_report import make_report

SVG = "{http://www.w3.org/2000/svg}"


def read_bars(report: CostReport) -> tuple[list[str], list[str]]:
    """All texts, and the kind of each bar."""
    root = ET.fromstring(render_svg(report))  # noqa: S314  # written above
    texts = ["".join(text.itertext()).strip() for text in root.iter(f"{SVG}text")]
    return texts, [bar.attrib["class"] for bar in root.iter(f"{SVG}rect") if "class" in bar.attrib]


def test_each_service_and_the_dearest_declarations_have_a_bar() -> None:
    texts, kinds = read_bars(make_report())
    assert {"CloudWatch", "DynamoDB", "Lambda", "Product item: create"} <= set(texts)
    assert set(kinds) == {"first"}
    assert "By service" in texts


def test_a_comparison_has_two_bars_for_each_and_a_legend() -> None:
    texts, kinds = read_bars(make_report(compared=True))
    assert kinds.count("first") == kinds.count("second") > 5
    assert {"one million", "two million"} <= set(texts)


def test_the_same_bill_makes_the_same_picture_and_titles_are_escaped() -> None:
    report = make_report()
    assert render_svg(report) == render_svg(make_report())
    texts, _ = read_bars(replace(report, title="a < b & c"))
    assert texts[0].endswith("a < b & c")
