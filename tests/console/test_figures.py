"""Series and histograms: what is drawn, the exact texts, and a parameter that is wrong."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from mypy_boto3_dynamodb import DynamoDBClient
from playwright.sync_api import Browser, Page, expect

from tests.console.browser import check_accessibility, open_page, sign_in
from tests.console.own_project import serve_own_project
from tests.console.stack import TENANTS, ConsoleStack
from tests.console.test_items import call

NOW = "2026-03-28T23:30:00Z"
"""Half past midnight in Berlin, where the next day of 23 hours has begun."""
FIRST, LAST = dt.date(2026, 2, 28), dt.date(2026, 3, 29)
"""The last 30 days of Berlin."""
EMPTY_EVERY = 3
"""Nothing is sold on every third day, from the first one on."""
LONG = "1234567890123456789.55"
"""A price with more digits than a number of JavaScript has."""
DAILY, WEEKLY = "Sum up Sale by country", "Count all Sale"
BUCKETS = "Buckets: Distribution of price"
DISTRIBUTION = [
    ["–", "0", "0", "0%"],
    ["0", "100", "5", "25%"],
    ["100", "200", "7", "60%"],
    ["200", "–", "8", "100%"],
]
"""Of all sales: bounds, count, and the share of all that is below the upper bound."""
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
      const place = (y * width + x) * 4;
      if (data[place + 3] > 20 && data[place + 1] - data[place] > 40) coloured += 1;
    }
    if (coloured >= least && !isBefore) runs += 1;
    isBefore = coloured >= least;
  }
  return runs;
}"""


@pytest.fixture(scope="module")
def sales(
    dynamo: str, dynamodb: DynamoDBClient, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConsoleStack]:
    """The stack of a project with a sale on most days: 10.50 on the first, 20.50, ..."""
    folder = tmp_path_factory.mktemp("sales")
    source = Path(__file__).with_name("sales.py")
    with serve_own_project(dynamo, dynamodb, folder, source) as served:
        for place in range((LAST - FIRST).days + 1):
            if place % EMPTY_EVERY:
                sold = f"{FIRST + dt.timedelta(days=place)}T11:00:00Z"
                price = LONG if place == 1 else f"{place * 10}.50"
                call(served, "POST", "/sales", {"country": "DE", "price": price, "sold": sold})
        served.catch_up()
        yield served


@pytest.fixture(scope="module")
def opened(browser: Browser, sales: ConsoleStack) -> Iterator[Page]:
    """The console of the sales, signed in once."""
    with open_page(browser) as page:
        page.clock.set_fixed_time(NOW)
        sign_in(page, sales.url, TENANTS[0])
        yield page


@pytest.fixture
def figures(opened: Page) -> Page:
    """The console at its start."""
    opened.set_viewport_size({"width": 1280, "height": 720})
    opened.evaluate("location.hash = '#/'; 0")
    return opened


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


def test_a_series_is_drawn_with_its_exact_texts(figures: Page, sales: ConsoleStack) -> None:
    page = figures
    page.get_by_role("link", name="Figures", exact=True).click()
    page.get_by_role("link", name=DAILY).wait_for()
    check_accessibility(page)
    page.get_by_role("link", name=DAILY).click()
    expect(page.get_by_role("heading", name="Choose country")).to_be_visible()
    sales.gateway.calls.clear()
    page.get_by_label("Country").fill("DE")
    page.keyboard.press("Enter")

    # The last 30 days are those of the declared zone, and the address has them.
    expect(page.get_by_text("30 buckets by day, in the time zone Europe/Berlin")).to_be_visible()
    expect(page).to_have_url(re.compile("from=2026-02-28&to=2026-03-30&step=day"))
    query = "from=2026-02-28&to=2026-03-30&step=day"
    assert sales.gateway.calls == [f"GET /countries/DE/sales?{query}"]
    expect(page.locator(".freshness")).to_have_text(re.compile("^Rolled up"))

    # A bar for each bucket that is not empty; then a line with gaps, beside a price of 21 digits.
    page.get_by_label("Show").select_option("count")
    expect_runs(page, 8, 30 - 30 // EMPTY_EVERY)
    page.get_by_label("Show").select_option("price.mean")
    expect_runs(page, 1, 30 // EMPTY_EVERY)
    table = page.get_by_role("table", name=f"Values: {DAILY}")
    columns = ["day", "count", "total", "price count", "price total", "price mean", "price min"]
    assert table.get_by_role("columnheader").all_inner_texts() == [*columns, "price max"]
    rows = list_cells(page, f"Values: {DAILY}")
    assert len(rows) == 30
    assert rows[0] == ["2026-02-28", "0", "0", "0", "0", "–", "–", "–"]
    mean = f"{LONG}0000000000"
    assert rows[1] == ["2026-03-01", "1", LONG, "1", LONG, mean, LONG, LONG]
    assert rows[29] == [
        "2026-03-29",
        "1",
        "290.5",
        "1",
        "290.5",
        "290.500000000000",
        *["290.5"] * 2,
    ]
    assert list_cells(page, BUCKETS) == DISTRIBUTION

    # The address shows the same elsewhere, and live.
    shared = urlsplit(page.url).fragment
    page.evaluate("location.hash = '#/figures'; 0")
    page.get_by_role("link", name=DAILY).wait_for()
    page.evaluate(f"location.hash = '{shared}'; 0")
    expect(page.get_by_label("Show")).to_have_value("price.mean")
    assert list_cells(page, f"Values: {DAILY}") == rows
    page.get_by_label("Count live").check()
    expect(page.locator(".freshness")).to_have_text(re.compile("^Live"))
    assert sales.gateway.calls[-1].endswith("&live=true")
    page.set_viewport_size({"width": 320, "height": 700})
    assert page.evaluate("document.querySelector('main').scrollWidth") <= 320
    check_accessibility(page)


def test_a_wrong_parameter_is_named_at_its_input(figures: Page, sales: ConsoleStack) -> None:
    page = figures
    query = "country=DE&from=2026-03-27&to=2026-04-01&step=day"
    page.evaluate(f"location.hash = '#/figures/get_country_sales?{query}'; 0")
    expect(page.get_by_text("5 buckets by day, in the")).to_be_visible()
    since, until = page.get_by_label("From"), page.get_by_label("To", exact=True)
    since.fill("2026-05-01")
    since.press("Enter")
    alert = page.get_by_role("alert")
    reason = "the range ends before it begins: to must be later than from"
    expect(alert.get_by_role("listitem")).to_have_text(f"to {reason}")
    expect(until).to_have_attribute("aria-invalid", "true")
    expect(until).to_have_accessible_description(reason)
    expect(since).not_to_have_attribute("aria-invalid", "true")
    check_accessibility(page)
    since.fill("2026-03-28")
    since.press("Enter")
    expect(page.get_by_text("4 buckets by day, in the")).to_be_visible()
    expect(alert).to_have_count(0)

    # By keyboard: the step after the range, and a histogram of the whole of it.
    page.get_by_label("Step").focus()
    page.keyboard.type("the whole")
    expect(page.get_by_text("1 bucket of the whole range")).to_be_visible()
    assert sales.gateway.calls[-1].endswith("?from=2026-03-28&to=2026-04-01")
    shown = list_cells(page, f"Values: {DAILY}")
    assert shown[0][:3] == ["2026-03-28 – 2026-04-01", "2", "571"]
    expect(page.get_by_role("heading", name="Distribution of price")).to_be_visible()


def test_a_histogram_has_its_percentiles_and_bounds(figures: Page) -> None:
    page = figures
    page.evaluate("location.hash = '#/figures/get_country?country=DE'; 0")
    expect(page.get_by_role("heading", name="Distribution of price")).to_be_visible()
    assert dict(list_cells(page, "Figures"))["count"] == "20"
    shown = page.locator(".percentiles > div").all_inner_texts()
    percentiles = [" ".join(text.split()) for text in shown]
    assert percentiles == ["p50 between 100 and 200", "p90 200 or more", "p99 200 or more"]
    assert list_cells(page, BUCKETS) == DISTRIBUTION
    expect_runs(page, 8, 3)
    check_accessibility(page)

    # Weeks that begin on Sunday, and a ranking of groups with further figures.
    page.evaluate("location.hash = '#/figures/get_weeks'; 0")
    expect(page.get_by_text("30 buckets by week, in the time zone UTC")).to_be_visible()
    assert [row[1] for row in list_cells(page, f"Values: {WEEKLY}")[-4:]] == ["5", "5", "4", "5"]
    page.evaluate("location.hash = '#/charts/list_countries'; 0")
    expect(page.locator(".bar-name")).to_have_text("DE")


def test_ranges_labels_and_percentiles(figures: Page) -> None:
    ranges = {
        ("hour", "Asia/Kolkata", 0, "2026-04-04T15:10Z"): "2026-04-03T15:00 2026-04-04T21:00",
        (
            "hour",
            "Europe/Berlin",
            0,
            "2026-10-25T00:10Z",
        ): "2026-10-23T21:00 2026-10-25T02:00+01:00",
        ("day", "Asia/Kolkata", 0, "2026-03-01T18:40Z"): "2026-02-01 2026-03-03",
        ("week", "UTC", 0, "2026-03-01T12:00Z"): "2025-08-04 2026-03-02",
        ("week", "UTC", 6, "2026-03-01T12:00Z"): "2025-08-10 2026-03-08",
        ("month", "UTC", 0, "2026-01-31T12:00Z"): "2023-08-01 2026-02-01",
        ("quarter", "UTC", 0, "2026-11-24T12:00Z"): "2019-07-01 2027-01-01",
        ("year", "America/New_York", 0, "2027-01-01T04:59Z"): "1997-01-01 2027-01-01",
    }
    labels = {
        ("2026-10-25T00:00Z", "Europe/Berlin"): "2026-10-25 02:00 +02:00",
        ("2026-10-25T01:00Z", "Europe/Berlin"): "2026-10-25 02:00 +01:00",
        ("2026-01-01T00:30Z", "America/St_Johns"): "2025-12-31 21:00 -03:30",
        ("2026-10-25", "Europe/Berlin"): "2026-10-25",
    }
    percentiles = {
        (50, 3, 1, 3): 1,
        (50, 3, 0, 3): 0,
        (50, 3, 0, 4): 2,
        (99, 99, 1, 0): 0,
        (99, 98, 1, 1): 1,
        (100, 1, 0, 1): 2,
        (50, 0, 0, 0): -1,
    }
    """The place of the bucket by percent and counts: by nearest rank."""
    made, shown, places = figures.evaluate(
        """async ([ranges, labels, percentiles]) => {
          const module = await import("console/pages/figures-ranges.js");
          const { findPercentile } = await import("console/pages/figures-histogram.js");
          const find = ([percent, ...counts]) => {
            const histogram = counts.map((count) => ({ count }));
            return histogram.indexOf(findPercentile(histogram, percent));
          };
          const render = ([step, zone, first_weekday, now]) => {
            const { from, to } = module.makeRange({ zone, first_weekday }, step, new Date(now));
            return `${from} ${to}`;
          };
          return [
            ranges.map(render),
            labels.map(([label, zone]) => module.renderLabel({ label }, zone)),
            percentiles.map(find),
          ];
        }""",
        [[*ranges], [*labels], [*percentiles]],
    )
    assert dict(zip(ranges, made, strict=True)) == ranges
    assert dict(zip(labels, shown, strict=True)) == labels
    assert dict(zip(percentiles, places, strict=True)) == percentiles
