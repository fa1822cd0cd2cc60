"""Search as you type: matches are marked, older searches ignored, compositions respected."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.console.browser import check_accessibility
from tests.console.stack import ConsoleStack

SEARCHES = re.compile(r"^GET /contacts\?.*\bq=")


def open_search(page: Page) -> None:
    page.evaluate("location.hash = '#/search/list_contacts'; 0")
    expect(page.get_by_role("searchbox")).to_be_focused()


def list_searches(server: ConsoleStack) -> list[str]:
    return [call for call in server.gateway.calls if SEARCHES.match(call)]


def test_typed_letters_are_one_search_and_matches_are_marked(
    page: Page, server: ConsoleStack
) -> None:
    open_search(page)
    with page.expect_response(lambda answer: "/contacts?" in answer.url and "q=" in answer.url):
        page.get_by_role("searchbox").press_sequentially("yama", delay=20)
    expect(page.get_by_role("link", name="Yamada Hanako")).to_be_visible()
    expect(page.locator("mark")).to_have_text(["Yama"])
    assert len(list_searches(server)) == 1
    assert "q=yama" in page.url
    check_accessibility(page)


def test_a_late_answer_of_an_older_search_is_ignored(page: Page, server: ConsoleStack) -> None:
    open_search(page)
    server.switches.slow, server.switches.delay_seconds = r"q=yama\b", 0.8
    page.get_by_role("searchbox").fill("yama")
    page.wait_for_timeout(300)
    page.get_by_role("searchbox").fill("jose")
    expect(page.get_by_role("link", name="José Müller")).to_be_visible()
    page.wait_for_timeout(900)
    expect(page.get_by_role("link", name="José Müller")).to_be_visible()
    expect(page.get_by_role("link", name="Yamada Hanako")).to_have_count(0)


def test_no_search_is_sent_during_a_composition(page: Page, server: ConsoleStack) -> None:
    open_search(page)
    client = page.context.new_cdp_session(page)
    for text in ("や", "やま", "山田"):
        client.send(
            "Input.imeSetComposition",
            {"text": text, "selectionStart": len(text), "selectionEnd": len(text)},
        )
        page.wait_for_timeout(250)
    assert list_searches(server) == []
    # The rows of before are marked until the answer comes, so a mark says nothing of the request.
    with page.expect_response(lambda answer: "/contacts?" in answer.url and "q=" in answer.url):
        client.send("Input.insertText", {"text": "山田"})
    expect(page.locator("mark").first).to_have_text("山田")
    assert len(list_searches(server)) == 1


def test_slash_goes_to_the_search_but_not_while_typing(fresh_page: Page) -> None:
    page = fresh_page
    page.get_by_role("heading", name="Home", level=1).wait_for()
    page.keyboard.press("/")
    box = page.get_by_role("searchbox")
    expect(box).to_be_focused()
    page.keyboard.press("/")
    expect(box).to_have_value("/")


def test_nothing_found_says_why(page: Page) -> None:
    open_search(page)
    page.get_by_role("searchbox").fill("zzzzqqq")
    expect(page.get_by_role("heading", name="Nothing matches")).to_be_visible()
    check_accessibility(page)


def test_every_entity_with_a_search_is_offered(page: Page, server: ConsoleStack) -> None:
    open_search(page)
    page.get_by_role("button", name="Artists").click()
    page.get_by_role("searchbox", name="Search Artists").fill("bow")
    expect(page.get_by_role("link", name="David Bowie")).to_be_visible()
    expect(page.locator("mark")).to_have_text(["Bow"])
    page.reload()
    assert "/search/list_artists?q=bow" in page.url
