"""``make bench-console``: the console over the 60,000 contacts of the search benchmark.

The exit status is 1 if a target is missed. The first run makes the table, in half a minute.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, Page, Request, sync_playwright
from rich.console import Console

from bench.console.trace import find_longest_task
from bench.search.budgets import Target, show
from bench.search.datasets import fill, progress_bar
from bench.search.items import MAIN, Scale
from tests.console import install
from tests.console.browser import launch, open_page, sign_in
from tests.console.stack import ConsoleStack
from tests.support import dynoxide

SCALE = Scale("prefix", 60_000)
KEYWORD, FREQUENT = "smith", "佐"
ROWS = 1_000
WHEEL_PIXELS = 700
PASSES = 5
CATEGORIES = ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"]
LONGEST_TASK_MS = 50.0
MOST_SHIFT = 0.01
MOST_BYTES = 100_000
_OBSERVE_SHIFTS = """
  window.layoutShift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.layoutShift += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
"""
_COUNT_ROWS = """Math.max(
  ...[...document.querySelectorAll("[role=row]")].map((row) => Number(row.ariaRowIndex ?? 0))
)"""


def main(console: Console) -> bool:
    """Measure and print. Return whether every target is met."""
    install.install()
    dataset = SCALE.ours()
    with progress_bar(console) as progress:
        fill(dataset, progress)
    with ExitStack() as opened:
        endpoint = opened.enter_context(dynoxide.serving(dataset.database))
        patch = opened.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("AWS_ENDPOINT_URL", endpoint)
        patch.setenv("POWERTOOLS_TRACE_DISABLED", "true")
        patch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Daicho")
        patch.setenv("POWERTOOLS_LOG_LEVEL", "ERROR")
        client = dynoxide.client(endpoint)
        stack = opened.enter_context(ConsoleStack(endpoint, client, dataset.table))
        browser = launch(opened.enter_context(sync_playwright()).chromium)
        targets = [
            *_measure_visit(browser, stack),
            *_measure_letters(browser, stack, console),
            *_measure_scrolling(browser, stack, console),
        ]
        browser.close()
    return show(console, targets)


def _measure_visit(browser: Browser, stack: ConsoleStack) -> list[Target]:
    """The bytes of a first visit up to a page of search results, as they are sent."""
    sizes: list[int] = []

    def add_size(request: Request) -> None:
        if request.url.startswith(stack.url):
            sizes.append(request.sizes()["responseBodySize"])

    with open_page(browser) as page:
        page.add_init_script(_OBSERVE_SHIFTS)
        page.on("requestfinished", add_size)
        sign_in(page, stack.url, MAIN)
        _search(page, KEYWORD)
        page.wait_for_timeout(500)
        shift = float(page.evaluate("window.layoutShift"))
    return [
        Target(f"bytes of the {len(sizes)} files of a visit, compressed", sum(sizes), MOST_BYTES),
        Target("layout shift of a visit with a search", shift, MOST_SHIFT),
    ]


def _measure_letters(browser: Browser, stack: ConsoleStack, console: Console) -> list[Target]:
    """Requests, and milliseconds until the first page is shown, of each typed letter."""
    requests: list[int] = []
    milliseconds: list[float] = []
    with open_page(browser) as page:
        sign_in(page, stack.url, MAIN)
        page.evaluate("location.hash = '#/search/list_contacts'; 0")
        box = page.get_by_role("searchbox")
        box.wait_for()
        for place in range(1, len(KEYWORD) + 1):
            stack.gateway.calls.clear()
            began = page.evaluate("performance.now()")
            box.press_sequentially(KEYWORD[place - 1])
            _wait_for_matches(page, KEYWORD[:place])
            milliseconds.append(page.evaluate("performance.now()") - began)
            page.wait_for_timeout(300)
            requests.append(sum(call.startswith("GET /contacts") for call in stack.gateway.calls))
    median = statistics.median(milliseconds)
    console.print(f"a typed letter shows its first page after {median:,.0f} ms (median)")
    return [Target("requests of a typed letter, at most", max(requests), 1)]


def _measure_scrolling(browser: Browser, stack: ConsoleStack, console: Console) -> list[Target]:
    """The longest task of the main thread while rows are scrolled and pages are read."""
    longest: list[float] = []
    shifts: list[float] = []
    for _ in range(PASSES):
        with open_page(browser) as page:
            page.add_init_script(_OBSERVE_SHIFTS)
            sign_in(page, stack.url, MAIN)
            _search(page, FREQUENT)
            page.get_by_role("table").hover()
            browser.start_tracing(page=page, categories=CATEGORIES)
            _scroll_to(page, ROWS)
            longest.append(find_longest_task(browser.stop_tracing()))
            shifts.append(float(page.evaluate("window.layoutShift")))
    shown = ", ".join(f"{each:.1f}" for each in longest)
    console.print(f"longest tasks of {PASSES} passes over {ROWS:,} rows: {shown} ms")
    return [
        Target(f"longest task over {ROWS:,} scrolled rows, ms", max(longest), LONGEST_TASK_MS),
        Target("layout shift while scrolling, at most", max(shifts), MOST_SHIFT),
    ]


def _search(page: Page, keyword: str) -> None:
    page.evaluate("location.hash = '#/search/list_contacts'; 0")
    page.get_by_role("searchbox").fill(keyword)
    _wait_for_matches(page, keyword)


def _wait_for_matches(page: Page, keyword: str) -> None:
    """Wait until each row that is shown has a match of the keyword."""
    page.wait_for_function(
        """(keyword) => {
          const marks = [...document.querySelectorAll("[role=row] mark")];
          const isWhole = (mark) => mark.textContent.length >= keyword.length;
          return marks.length > 0 && marks.every(isWhole);
        }""",
        arg=keyword,
    )


def _scroll_to(page: Page, rows: int) -> None:
    read: Callable[[], int] = lambda: int(page.evaluate(_COUNT_ROWS))  # noqa: E731
    for _ in range(rows):
        if read() >= rows:
            return
        page.mouse.wheel(0, WHEEL_PIXELS)
        page.wait_for_timeout(30)
    raise AssertionError(f"the list ends after {read():,} rows")


if __name__ == "__main__":
    sys.exit(0 if main(Console()) else 1)
