"""A tenant sees nothing of another one; a device that is offline loses nothing."""

from __future__ import annotations

from playwright.sync_api import Browser, Page, expect

from tests.console.browser import open_page, sign_in
from tests.console.stack import TENANTS, ConsoleStack
from tests.console.test_items import call


def test_another_tenant_finds_and_opens_nothing(browser: Browser, server: ConsoleStack) -> None:
    made = call(server, "POST", "/contacts", {"name": "Zanzibar Secret", "phone": "1"})
    server.catch_up()
    with open_page(browser) as page:
        sign_in(page, server.url, TENANTS[1])
        page.evaluate("location.hash = '#/search/list_contacts'; 0")
        page.get_by_role("searchbox").fill("zanzibar")
        expect(page.get_by_role("heading", name="Nothing")).to_be_visible()
        page.evaluate(f"location.hash = '#/item/get_contact/{made['id']}'; 0")
        expect(page.get_by_role("alert").filter(has_text="Not Found")).to_be_visible()
        expect(page.get_by_text("Zanzibar")).to_have_count(0)


def test_offline_keeps_the_keyword_and_tries_again(page: Page, server: ConsoleStack) -> None:
    page.evaluate("location.hash = '#/search/list_contacts'; 0")
    box = page.get_by_role("searchbox")
    box.wait_for()
    server.switches.offline = True
    page.context.set_offline(True)
    box.fill("yama")
    expect(page.get_by_role("alert").filter(has_text="Offline")).to_be_visible()
    expect(box).to_have_value("yama")
    server.switches.offline = False
    page.context.set_offline(False)
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("link", name="Yamada Hanako")).to_be_visible()
