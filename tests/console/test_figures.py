"""Series and histograms: what is drawn, the exact texts, and a parameter that is wrong."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser import check_accessibility, sign_in
from tests.console.figures_api import (
    EMPTY_EVERY,
    LONG,
    SERIES,
    ZONE,
    FiguresApi,
)
from tests.console.stack import TENANTS, ConsoleStack

NOW = "2026-03-28T23:30:00Z"
"""Half past midnight in Berlin, where the next day of 23 hours has begun."""
MARCH = "#/figures/series_sales?country=DE&from=2026-03-27&to=2026-04-01&step=day"
TRIES = 60
_READ_CELLS = """(table) => [...table.querySelectorAll(".body [role=row]")].map(
  (row) => [...row.querySelectorAll("[role=cell]")].map((cell) => cell.innerText),
)"""
_COUNT_RUNS = """(least) => {
  const canvas = document.querySelector(".chart canvas");
  const { width, height } = canvas;
  const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, width, height);
  let runs = 0;
  let isBefore = false;
  for (let x = 0; x < width; x += 1) {
    let coloured = 0;
    for (let y = 0; y < height; y += 1) {
      const [red, green, , alpha] = data.slice((y * width + x) * 4, (y * width + x) * 4 + 4);
      if (alpha > 20 && green - red > 40) coloured += 1;
    }
    if (coloured >= least && !isBefore) runs += 1;
    isBefore = coloured >= least;
  }
  return runs;
}"""


@pytest.fixture
def api() -> FiguresApi:
    return FiguresApi()


@pytest.fixture
def figures(anonymous: Page, server: ConsoleStack, api: FiguresApi) -> Page:
    """The console over the stand-in, signed in."""
    anonymous.clock.set_fixed_time(NOW)
    api.serve(anonymous, server.gateway.url)
    sign_in(anonymous, server.url, TENANTS[0])
    return anonymous


def expect_runs(page: Page, least_pixels: int, expected: int) -> None:
    """Wait until the chart has so many separate parts, of columns with pixels of its colour."""
    runs = -1
    for _ in range(TRIES):
        runs = page.evaluate(_COUNT_RUNS, least_pixels)
        if runs == expected:
            return
        page.wait_for_timeout(50)
    assert runs == expected


def list_cells(page: Page, label: str) -> list[list[str]]:
    """The texts of a table by row."""
    table = page.get_by_role("table", name=label)
    table.get_by_role("cell").first.wait_for()
    texts: list[list[str]] = table.evaluate(_READ_CELLS)
    return texts


def list_names(page: Page, label: str) -> list[str]:
    return page.get_by_role("table", name=label).get_by_role("columnheader").all_inner_texts()


def test_a_series_is_drawn_with_its_exact_texts(figures: Page, api: FiguresApi) -> None:
    page = figures
    page.get_by_role("link", name="Figures", exact=True).click()
    page.get_by_role("link", name=SERIES).click()
    expect(page.get_by_role("heading", name="Choose country")).to_be_visible()
    page.get_by_label("Country").fill("DE")

    # The last 30 days are those of the zone of the answer, and the address has them.
    expect(page.get_by_text(f"30 buckets by day, in the time zone {ZONE}")).to_be_visible()
    expect(page).to_have_url(re.compile("from=2026-02-28&to=2026-03-30&step=day"))
    assert [query["to"] for query in api.queries] == ["2026-03-29", "2026-03-30"]
    expect(page.locator(".freshness")).to_have_text("Rolled up · as of Mar 28, 2026, 23:20")

    # A bar for each bucket that is not empty, beside one of 32 digits; then a line with gaps.
    page.get_by_label("Show").select_option("count")
    expect_runs(page, 8, 30 - 30 // EMPTY_EVERY)
    page.get_by_label("Show").select_option("price.mean")
    expect_runs(page, 1, 30 // EMPTY_EVERY)
    columns = ["day", "count", "total", "price count", "price total", "price mean", "price min"]
    assert list_names(page, f"Values: {SERIES}") == [*columns, "price max"]
    rows = list_cells(page, f"Values: {SERIES}")
    assert len(rows) == 30
    assert rows[0] == ["2026-02-28", "0", "0", "0", "0", "–", "–", "–"]
    assert rows[1] == ["2026-03-01", "8", LONG, "8", LONG, "2.250000000000", "0.10", "99.00"]

    # The address shows the same elsewhere, and live.
    shared = urlsplit(page.url).fragment
    page.evaluate("location.hash = '#/figures'; 0")
    page.get_by_role("link", name=SERIES).wait_for()
    page.evaluate(f"location.hash = '{shared}'; 0")
    expect(page.get_by_label("Show")).to_have_value("price.mean")
    assert list_cells(page, f"Values: {SERIES}") == rows
    page.get_by_label("Count live").check()
    expect(page.locator(".freshness")).to_have_text(re.compile("^Live"))
    assert api.queries[-1] == {
        "from": "2026-02-28", "to": "2026-03-30", "step": "day", "live": "true",
    }  # fmt: skip
    check_accessibility(page)
    page.set_viewport_size({"width": 320, "height": 700})
    assert page.evaluate("document.querySelector('main').scrollWidth") <= 320
    check_accessibility(page)


def test_a_wrong_parameter_is_named_at_its_input(figures: Page, api: FiguresApi) -> None:
    page = figures
    page.evaluate(f"location.hash = '{MARCH}'; 0")
    expect(page.get_by_text("5 buckets by day")).to_be_visible()
    since = page.get_by_label("From")
    since.fill("2026-05-01")
    alert = page.get_by_role("alert")
    expect(alert.get_by_role("listitem")).to_have_text("from is not before to, 2026-04-01")
    expect(since).to_have_attribute("aria-invalid", "true")
    expect(since).to_have_accessible_description("is not before to, 2026-04-01")
    expect(page.get_by_label("To", exact=True)).not_to_have_attribute("aria-invalid", "true")
    check_accessibility(page)
    since.fill("2026-03-28")
    expect(alert).to_have_count(0)
    expect(page.get_by_text("4 buckets by day")).to_be_visible()

    # By keyboard: the step after the range, and a histogram of the whole of it.
    since.focus()
    page.get_by_label("Step").focus()
    page.keyboard.type("the whole")
    expect(page.get_by_text("1 bucket of the whole range")).to_be_visible()
    assert "step" not in api.queries[-1]
    expect(page.get_by_role("heading", name="Distribution of price")).to_be_visible()


def test_a_histogram_has_its_percentiles_and_bounds(figures: Page) -> None:
    page = figures
    page.evaluate("location.hash = '#/figures/get_country?country=DE'; 0")
    expect(page.get_by_role("heading", name="Distribution of price")).to_be_visible()
    values = dict(list_cells(page, "Figures"))
    assert (values["price total"], values["price mean"]) == (LONG, "2.250000000000")
    shown = page.locator(".percentiles > div").all_inner_texts()
    percentiles = [" ".join(text.split()) for text in shown]
    assert percentiles == ["p50 between 5 and 10.5", "p90 10.5 or more", "p99 10.5 or more"]
    assert list_cells(page, "Buckets: Distribution of price") == [
        ["–", "0", "0", "0%"],
        ["0", "5", "3", "37.5%"],
        ["5", "10.5", "1", "50%"],
        ["10.5", "–", "4", "100%"],
    ]
    expect_runs(page, 8, 3)
    check_accessibility(page)


def test_the_last_buckets_are_of_the_zone(page: Page) -> None:
    cases = {
        (
            "hour",
            "Australia/Lord_Howe",
            "2026-04-04T15:10:00Z",
        ): "2026-04-03T21:00 2026-04-05T02:00",
        ("day", "Asia/Kolkata", "2026-03-01T18:40:00Z"): "2026-02-01 2026-03-03",
        ("week", "UTC", "2026-03-01T12:00:00Z"): "2025-08-04 2026-03-02",
        ("month", "UTC", "2026-01-31T12:00:00Z"): "2023-08-01 2026-02-01",
        ("quarter", "UTC", "2026-11-24T12:00:00Z"): "2019-07-01 2027-01-01",
        ("year", "America/New_York", "2027-01-01T04:59:00Z"): "1997-01-01 2027-01-01",
    }
    made = page.evaluate(
        """async (cases) => {
          const { makeRange } = await import("console/pages/figures-ranges.js");
          return cases.map(([step, zone, now]) => makeRange(step, zone, new Date(now)));
        }""",
        [*cases],
    )
    assert [f"{one['from']} {one['to']}" for one in made] == [*cases.values()]


def test_an_hour_is_labelled_by_the_clock_of_its_zone(page: Page) -> None:
    labels = {
        ("2026-10-25T00:00Z", "Europe/Berlin"): "2026-10-25 02:00 +02:00",
        ("2026-10-25T01:00Z", "Europe/Berlin"): "2026-10-25 02:00 +01:00",
        ("2026-01-01T00:30Z", "America/St_Johns"): "2025-12-31 21:00 -03:30",
        ("2026-10-25", "Europe/Berlin"): "2026-10-25",
    }
    shown = page.evaluate(
        """async (labels) => {
          const { renderLabel } = await import("console/pages/figures-ranges.js");
          return labels.map(([label, zone]) => renderLabel(label, zone));
        }""",
        [*labels],
    )
    assert shown == [*labels.values()]
