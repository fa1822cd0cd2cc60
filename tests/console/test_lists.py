"""Lists: columns, saved views, selected items, ranges, and the keyboard."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.console.browser import check_accessibility, launch, open_page, sign_in
from tests.console.stack import TENANTS, ConsoleStack
from tests.console.test_items import call

MANUALS = "#/list/list_manuals?$view=manuals.manuals"
TEXTS = ("=1+1", 'a "quoted", text', "two\nlines", "-5", "+81 3 1234", "日本")
IN_CSV = ("'=1+1", 'a "quoted", text', "two\nlines", "-5", "'+81 3 1234", "日本")
"""What a spreadsheet would run as a formula has an apostrophe before it."""
CLIPBOARD = ("clipboard-read", "clipboard-write")


@pytest.fixture
def manuals(server: ConsoleStack) -> Iterator[list[dict[str, Any]]]:
    """Manuals, newest first."""
    made = [call(server, "POST", "/manuals", {"title": t, "text": "."}) for t in TEXTS]
    server.catch_up()
    yield made[::-1]
    for item in made:
        call(server, "DELETE", f"/manuals/{item['id']}")


def go(page: Page, address: str) -> None:
    page.evaluate("(address) => { location.hash = address; }", address)


def open_manuals(page: Page) -> None:
    go(page, "#/list/list_manuals")
    page.get_by_role("link", name=TEXTS[-1], exact=True).wait_for()


def box(page: Page, row: int) -> Any:
    return page.get_by_role("checkbox", name=f"Select row {row}", exact=True)


def read_copy(page: Page) -> str:
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_selected_items_are_copied_and_saved_as_csv(
    fresh_page: Page, manuals: list[dict[str, Any]]
) -> None:
    page = fresh_page
    page.context.grant_permissions([*CLIPBOARD])
    open_manuals(page)
    box(page, 1).check()
    box(page, 6).click(modifiers=["Shift"])
    selected = page.get_by_role("group", name="Selected items")
    expect(selected).to_contain_text("6 selected")
    check_accessibility(page)

    with page.expect_download() as saving:
        selected.get_by_role("button", name="CSV").click()
    assert saving.value.suggested_filename == "Manual.csv"
    text = saving.value.path().read_bytes().decode("utf-8-sig")
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    assert [row[head.index("title")] for row in rows] == [*reversed(IN_CSV)]
    assert [row[head.index("id")] for row in rows] == [item["id"] for item in manuals]

    box(page, 2).uncheck()
    expect(selected).to_contain_text("5 selected")
    selected.get_by_role("button", name="Copy ids").click()
    kept = [manuals[0], *manuals[2:]]
    assert read_copy(page).split("\n") == [item["id"] for item in kept]
    selected.get_by_role("button", name="Clear").click()
    expect(selected).to_have_count(0)
    page.get_by_role("checkbox", name="Select all").check()
    expect(selected).to_be_visible()
    # Items that are read again are others.
    page.get_by_role("button", name="Refresh").click()
    expect(selected).to_have_count(0)


def test_an_item_is_copied(fresh_page: Page, manuals: list[dict[str, Any]]) -> None:
    page = fresh_page
    page.context.grant_permissions([*CLIPBOARD])
    open_manuals(page)
    page.get_by_role("link", name=TEXTS[-1], exact=True).click()
    page.get_by_role("button", name="Copy", exact=True).click()
    menu = page.get_by_role("dialog", name="Copy")
    check_accessibility(page)
    for name, expected in (("Id", manuals[0]["id"]), ("Link", page.url)):
        menu.get_by_role("button", name=name, exact=True).click()
        assert read_copy(page) == expected
        expect(menu.get_by_role("button", name=name, exact=True)).to_be_visible()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()


def test_a_saved_view_has_filters_and_columns_of_one_user(
    browser: Browser, fresh_page: Page, server: ConsoleStack
) -> None:
    page = fresh_page
    genre = page.get_by_role("textbox", name="Genre", exact=True)
    go(page, "#/list/list_albums?genre=Rock")
    page.get_by_role("button", name="Columns").click()
    columns = page.get_by_role("dialog", name="Columns")
    check_accessibility(page)
    columns.get_by_label("Genre").check()
    columns.get_by_label("Created at").uncheck()
    page.keyboard.press("Escape")
    heads = page.get_by_role("columnheader")
    shown = heads.all_inner_texts()
    assert "Genre" in shown
    assert "Created at" not in shown

    page.get_by_role("button", name="Views").click()
    views = page.get_by_role("dialog", name="Views")
    views.get_by_role("textbox").fill("Rock <b>")
    views.get_by_role("button", name="Save").click()
    expect(views.get_by_role("link", name="Rock <b>")).to_be_visible()
    check_accessibility(page)
    page.keyboard.press("Escape")
    address = urlsplit(page.url).fragment
    go(page, "#/list/list_albums?genre=Jazz")
    expect(genre).to_have_value("Jazz")
    page.get_by_role("button", name="Views").click()
    views.get_by_role("link", name="Rock <b>").click()
    expect(genre).to_have_value("Rock")
    assert heads.all_inner_texts() == shown

    # Another user of this browser has no such view, but the link shows the same.
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="Sign in").wait_for()
    server.issuer.sessions.clear()
    sign_in(page, server.url, f"{TENANTS[0]}-admin")
    go(page, f"#{address}")
    expect(genre).to_have_value("Rock")
    assert heads.all_inner_texts() == shown
    page.get_by_role("button", name="Views").click()
    expect(views.get_by_role("textbox")).to_be_visible()
    expect(views.get_by_role("link")).to_have_count(0)


def test_a_range_has_both_bounds(page: Page, server: ConsoleStack) -> None:
    go(page, "#/list/list_customer_orders/ann?$view=Order.of_customer")
    bounds = page.get_by_role("group", name="Between, both included")
    since, until = bounds.get_by_label("From"), bounds.get_by_label("To")
    since.fill("2026-11-01")
    with page.expect_response(lambda answer: "to=2026-11-30" in answer.url) as answered:
        until.fill("2026-11-30")
    assert "from=2026-11-01" in answered.value.url
    assert answered.value.ok
    expect(page).to_have_url(re.compile("from=2026-11-01&to=2026-11-30"))
    check_accessibility(page)
    until.fill("2026-10-01")
    expect(until).to_have_attribute("aria-invalid", "true")
    expect(until).to_have_accessible_description(re.compile("before its beginning"))
    # An instant of the address is kept, and can be changed.
    instant = "2026-11-01T09:00:00Z"
    go(page, f"#/list/list_albums?genre=Rock&from={instant}")
    expect(bounds.get_by_label("From")).to_have_value(instant)
    expect(bounds.get_by_label("To")).to_have_attribute("type", "date")


def test_a_list_is_used_by_keyboard(fresh_page: Page, manuals: list[dict[str, Any]]) -> None:
    page = fresh_page
    open_manuals(page)
    rows = page.locator(".body [role=row]")
    page.keyboard.press("j")
    expect(rows.nth(0).get_by_role("link")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("j")
    expect(rows.nth(2).get_by_role("link")).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("x")
    expect(box(page, 2)).to_be_checked()
    page.keyboard.press("Space")
    expect(box(page, 2)).not_to_be_checked()
    page.keyboard.press("End")
    expect(rows.last.get_by_role("link")).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=TEXTS[-1], level=1)).to_be_visible()
    page.keyboard.press("Backspace")
    expect(page.get_by_role("link", name=TEXTS[-1], exact=True)).to_be_visible()

    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard")
    expect(keys).to_contain_text("Next or previous item")
    check_accessibility(page)
    keys.get_by_role("checkbox").uncheck()
    page.keyboard.press("Escape")
    expect(keys).to_have_count(0)
    page.keyboard.press("?")
    page.keyboard.press("j")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.closest('.body')") is None
    expect(keys).to_have_count(0)
    page.get_by_role("button", name="Keyboard").click()
    keys.get_by_role("checkbox").check()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()


def test_keys_reach_rows_out_of_sight(page: Page, server: ConsoleStack) -> None:
    made = [call(server, "POST", "/manuals", {"title": f"No. {n}", "text": "."})
            for n in range(130)]  # fmt: skip
    server.catch_up()
    go(page, "#/list/list_manuals")
    page.get_by_role("link", name="No. 129").wait_for()
    page.keyboard.press("j")
    # Each page is read when the end of the one before is in view.
    for count, name in (("50+", "No. 80"), ("100+", "No. 30"), ("130", "No. 0")):
        expect(page.get_by_role("status").get_by_text(count, exact=True)).to_be_visible()
        page.keyboard.press("End")
        expect(page.get_by_role("link", name=name, exact=True)).to_be_focused()
    table = page.get_by_role("table").first
    expect(table).to_have_attribute("aria-rowcount", "131")
    page.keyboard.press("Home")
    expect(page.get_by_role("link", name="No. 129")).to_be_focused()
    for item in made:
        call(server, "DELETE", f"/manuals/{item['id']}")


def test_a_browser_without_a_locale_shows_charts(
    browser: Browser, server: ConsoleStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LANG", "LANGUAGE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LC_ALL", "C")
    opened = launch(browser.browser_type)
    with open_page(opened, locale=None) as page:
        sign_in(page, server.url, TENANTS[0])
        assert page.evaluate("navigator.language") == "en-US@posix"
        go(page, "#/charts/get_revenue")
        expect(page.locator(".chart canvas")).to_have_count(1)
    opened.close()


def test_figures_name_the_time_up_to_which_they_include_everything(page: Page) -> None:
    def answer(route: Route) -> None:
        data = route.fetch().json()
        assert {"as_of", "rolled_up"} <= data.keys()
        route.fulfill(json=data | {"as_of": "2026-11-29T10:00:00Z", "rolled_up": True})

    pattern = re.compile(r"/api/(revenue|charts)/")
    page.route(pattern, answer)
    for address in ("get_revenue", "list_charts/?month=2026-11"):
        go(page, f"#/charts/{address}")
        freshness = page.locator(".freshness")
        expect(freshness).to_contain_text(
            "Rolled up, once a minute · includes everything up to Nov 29, 2026, 10:00"
        )
        go(page, "#/")
    page.unroute(pattern)
