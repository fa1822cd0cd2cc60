"""Lists, polls, charts, themes: what is shown, and that nothing is wrong with any page."""

from __future__ import annotations

import json
import re

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.console.browser import check_accessibility, open_page, sign_in
from tests.console.stack import TENANTS, ConsoleStack
from tests.console.test_items import call

PAGES = {
    "home": "#/",
    "entity": "#/entity/Song",
    "list": "#/list/list_contacts?$view=contacts.contacts",
    "filters": "#/list/list_orders?$view=Order.of_status",
    "charts": "#/charts",
    "ranking": "#/charts/list_charts",
    "total": "#/charts/get_revenue",
    "figures": "#/figures",
    "polls": "#/polls",
    "new": "#/new/create_device_report",
    "limits": "#/limits",
    "nothing": "#/nowhere",
    "no item": "#/item/nothing/1",
}


@pytest.mark.parametrize("hash_", PAGES.values(), ids=PAGES)
def test_every_page_is_accessible_and_fits_narrow_screens(page: Page, hash_: str) -> None:
    page.evaluate(f"location.hash = {hash_!r}; 0")
    expect(page.locator("main h1:not(.visually-hidden)")).to_be_visible()
    expect(page.locator("main .skeleton")).to_have_count(0)
    check_accessibility(page)
    page.set_viewport_size({"width": 320, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    assert page.evaluate("document.querySelector('main').scrollWidth") <= 320
    page.get_by_role("button", name="Navigation").click()
    check_accessibility(page, themes=("light",))
    page.get_by_role("button", name="Navigation").click()


def test_a_list_reads_its_next_pages_while_it_is_scrolled(page: Page, server: ConsoleStack) -> None:
    made = [call(server, "POST", "/manuals", {"title": f"Manual {n}", "text": "."})
            for n in range(70)]  # fmt: skip
    server.catch_up()
    server.gateway.calls.clear()
    page.evaluate("location.hash = '#/list/list_manuals'; 0")
    page.get_by_role("link", name="Manual 69").wait_for()
    expect(page.get_by_role("table").first).to_have_attribute("aria-rowcount", "-1")
    for _ in range(40):
        page.get_by_role("region").evaluate("(element) => element.scrollBy(0, 2_000)")
        page.wait_for_timeout(60)
        if page.get_by_role("link", name="Manual 0", exact=True).count():
            break
    expect(page.get_by_role("link", name="Manual 0", exact=True)).to_be_visible()
    expect(page.get_by_role("table").first).to_have_attribute("aria-rowcount", "71")
    reads = [line for line in server.gateway.calls if line.startswith("GET /manuals?")]
    assert len(reads) == 2
    assert all("limit=50" in line for line in reads)
    assert page.locator(".body .row").count() < 80, "rows out of sight are not in the document"
    for item in made:
        call(server, "DELETE", f"/manuals/{item['id']}")


def test_a_filter_keeps_what_is_typed_before_the_page_is_painted(page: Page) -> None:
    """The observer types as soon as the input is in the document."""
    page.evaluate("""() => {
        new MutationObserver((_, observer) => {
            const input = document.querySelector("form.filters input");
            if (!input) return;
            observer.disconnect();
            input.value = "david-bowie";
            input.dispatchEvent(new Event("input", { bubbles: true }));
        }).observe(document.body, { childList: true, subtree: true });
        location.hash = '#/list/list_artist_songs';
    }""")
    expect(page.get_by_role("link", name="Heroes")).to_be_visible()
    expect(page.get_by_role("textbox", name="Artist")).to_have_value("david-bowie")


def test_filters_are_in_the_address(page: Page) -> None:
    page.evaluate("location.hash = '#/list/list_artist_songs'; 0")
    expect(page.get_by_role("heading", name="Choose artist")).to_be_visible()
    page.get_by_label("Artist").fill("david-bowie")
    expect(page.get_by_role("link", name="Heroes")).to_be_visible()
    assert "david-bowie" in page.url
    page.get_by_role("link", name="Heroes").click()
    expect(page.get_by_role("heading", name="Heroes")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("link", name="Heroes")).to_be_visible()


def test_an_error_has_its_request_id_and_a_retry(page: Page, server: ConsoleStack) -> None:
    server.switches.fail("^/manuals", times=9, status=500)
    page.evaluate("location.hash = '#/list/list_manuals'; 0")
    alert = page.get_by_role("alert")
    expect(alert).to_be_visible()
    check_accessibility(page)
    server.switches.reset()
    alert.get_by_role("button", name="Try again").click()
    expect(alert).to_have_count(0)


def test_a_vote_moves_the_bars(page: Page, server: ConsoleStack) -> None:
    poll = call(server, "POST", "/polls", {"candidates": ["Left", "Right <b>"]})
    page.evaluate(f"location.hash = '#/polls/{poll['id']}'; 0")
    votes = page.locator(".total")
    expect(votes).to_have_text("0")
    page.get_by_role("button", name="Vote for Right <b>").click()
    expect(votes).to_have_text("1")
    expect(page.get_by_text("You voted for")).to_be_visible()
    check_accessibility(page)
    # Another voter, from elsewhere: the page follows without a click.
    headers = {"authorization": f"Bearer {server.issuer.make_token(TENANTS[0])}"}
    headers["idempotency-key"] = "another-voter"
    sent = httpx.post(
        f"{server.gateway.url}/polls/{poll['id']}/votes",
        headers=headers,
        json={"candidate": "Left"},
    )
    assert sent.is_success
    expect(votes).to_have_text("2")


def test_a_theme_is_remembered(browser: Browser, server: ConsoleStack) -> None:
    def read_background(page: Page) -> str:
        return str(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))

    with open_page(browser, color_scheme="dark") as page:
        sign_in(page, server.url, TENANTS[0])
        page.get_by_role("heading", name="Home", level=1).wait_for()
        dark = read_background(page)
        page.get_by_role("radio", name="light").check(force=True)
        light = read_background(page)
        assert dark != light
        page.reload()
        page.wait_for_load_state()
        assert read_background(page) == light


def test_charts_are_drawn_again_for_a_theme_and_leave_nothing(page: Page) -> None:
    page.evaluate("location.hash = '#/charts/get_revenue'; 0")
    canvas = page.locator(".chart canvas")
    expect(canvas).to_have_count(1)
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(200)
    expect(canvas).to_have_count(1)
    page.evaluate("location.hash = '#/'; 0")
    expect(canvas).to_have_count(0)


def test_the_whole_page_works_by_keyboard(fresh_page: Page) -> None:
    page = fresh_page
    page.locator("main .card a").first.wait_for()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")


def test_curl_has_no_token(page: Page, server: ConsoleStack) -> None:
    page.evaluate("location.hash = '#/limits'; 0")
    page.get_by_text("of 1000").wait_for()
    page.get_by_role("button", name="Recent requests").click()
    texts = page.get_by_role("dialog").inner_text()
    assert "/categories/count" in texts
    assert not re.search(r"eyJ[\w-]+\.", page.content())
    kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert "eyJ" not in json.dumps(kept)
