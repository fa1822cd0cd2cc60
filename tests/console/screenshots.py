"""``make screenshots``: the pictures of the console in the README and the documentation."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

import tests.conftest
from tests.console import install
from tests.console.browser import launch, open_page, sign_in
from tests.console.stack import OPERATOR, TENANTS, ConsoleStack, serve_console
from tests.console.test_items import call
from tests.support import dynoxide

FOLDER = Path(__file__).parents[2] / "docs/images/console"
SIZE = {"width": 1_100, "height": 680}


def main() -> None:
    """Take all pictures over the demonstration's data."""
    assert tests.conftest.pytest_plugins  # imported for its settings: no real account is found
    install.install()
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (
        dynoxide.serving() as endpoint,
        serve_console(endpoint, dynoxide.client(endpoint)) as stack,
        sync_playwright() as playwright,
    ):
        browser = launch(playwright.chromium)
        with open_page(browser, viewport=SIZE, color_scheme="light") as page:
            sign_in(page, stack.url, f"{TENANTS[0]}-admin")
            _take_search(page)
            _take_poll(page, stack)
            _take_archive(page, stack)
        with open_page(browser, viewport=SIZE, color_scheme="dark") as page:
            sign_in(page, stack.url, OPERATOR)
            _take_quarantine(page, stack)
        browser.close()


def _take(page: Page, name: str) -> None:
    page.wait_for_timeout(500)
    page.screenshot(path=FOLDER / f"{name}.png", animations="disabled")
    print(f"docs/images/console/{name}.png")  # noqa: T201


def _take_search(page: Page) -> None:
    page.evaluate("location.hash = '#/search/list_contacts'; 0")
    page.get_by_role("searchbox").fill("ya")
    expect(page.locator("mark").first).to_be_visible()
    _take(page, "search")


def _take_poll(page: Page, stack: ConsoleStack) -> None:
    poll = call(stack, "POST", "/polls", {"candidates": ["Green tea", "Coffee", "Water"]})["id"]
    for candidate, votes in (("Green tea", 7), ("Coffee", 4), ("Water", 2)):
        for number in range(votes):
            vote = {"candidate": candidate}
            call(stack, "POST", f"/polls/{poll}/votes", vote, key=f"{candidate}-{number}")
    stack.catch_up()
    page.evaluate(f"location.hash = '#/polls/{poll}'; 0")
    expect(page.locator(".poll-line .total").first).to_have_text("13")
    _take(page, "poll")


def _take_archive(page: Page, stack: ConsoleStack) -> None:
    for day in ("Monday", "Tuesday", "Wednesday"):
        call(stack, "POST", "/messages", {"subject": f"Rehearsal on {day}", "text": "At seven"})
    stack.catch_up()
    stack.expire_items(8)
    page.evaluate("location.hash = '#/archive?entity=Message&since=2000-01-01&until=2099-01-01'; 0")
    expect(page.get_by_role("row").filter(has_text="Rehearsal").first).to_be_visible()
    _take(page, "archive")


def _take_quarantine(page: Page, stack: ConsoleStack) -> None:
    page.evaluate("location.hash = '#/ops/health'; 0")
    page.get_by_role("button", name="Poison votes").click()
    page.get_by_role("dialog").get_by_role("button", name="Poison votes").click()
    expect(page.get_by_role("status").filter(has_text="Votes fail from now on")).to_be_visible()
    poll = call(stack, "POST", "/polls", {"candidates": ["a", "b"]})["id"]
    call(stack, "POST", f"/polls/{poll}/votes", {"candidate": "a"}, key="poisoned")
    stack.catch_up()
    page.evaluate("location.hash = '#/ops/quarantine'; 0")
    page.get_by_role("table").get_by_role("link", name="Ballot").first.click()
    expect(page.get_by_role("heading", name="Images")).to_be_visible()
    _take(page, "quarantine")


if __name__ == "__main__":
    main()
