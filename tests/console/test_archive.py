"""The archive and the jobs of a tenant: an expired item is found, tried and restored."""

from __future__ import annotations

import datetime as dt

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.console.browser import check_accessibility, sign_in
from tests.console.stack import TENANTS, ConsoleStack
from tests.console.test_items import HOSTILE, call


@pytest.fixture
def admin(anonymous: Page, server: ConsoleStack) -> Page:
    """The console, signed in as an administrator of the tenant."""
    sign_in(anonymous, server.url, f"{TENANTS[0]}-admin")
    return anonymous


def test_an_expired_item_is_restored_from_the_page(admin: Page, server: ConsoleStack) -> None:
    text = HOSTILE["markup"]
    made = call(server, "POST", "/messages", {"subject": "Gone for good", "text": text})
    server.catch_up()
    server.expire_items(8)
    page, today = admin, dt.datetime.now(dt.UTC)
    period = f"since={today.date()}&until={today.date() + dt.timedelta(days=9)}"
    page.evaluate(f"location.hash = '#/archive?entity=Message&{period}'; 0")
    row = page.get_by_role("row").filter(has_text="Gone for good")
    expect(row).to_be_visible()
    check_accessibility(page)

    # A trial writes nothing.
    page.get_by_role("button", name="Try a restore").click()
    expect(page.get_by_text("succeeded")).to_be_visible(timeout=20_000)
    expect(page.get_by_text("nothing was written")).to_be_visible()
    check_accessibility(page)

    # One item is opened and restored, and is found again.
    page.go_back()
    row.get_by_role("button").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text(text[:20])).to_be_visible()
    dialog.get_by_role("button", name="Restore this item").click()
    page.get_by_role("dialog").get_by_role("button", name="Restore", exact=True).click()
    expect(page.get_by_text("succeeded")).to_be_visible(timeout=20_000)
    assert call(server, "GET", f"/messages/{made['id']}")["subject"] == "Gone for good"
    page.get_by_role("link", name="Jobs").first.click()
    expect(page.get_by_role("row").filter(has_text="Trial restore of Messages")).to_be_visible()
    check_accessibility(page)


def test_only_administrators_open_it(page: Page, server: ConsoleStack) -> None:
    expect(page.get_by_role("link", name="Home")).to_be_visible()
    for name in ("Archive", "Jobs"):
        expect(page.get_by_role("link", name=name)).to_have_count(0)
    headers = {"authorization": f"Bearer {server.issuer.make_token(TENANTS[0])}"}
    period = "since=2026-11-01T00:00:00Z&until=2026-11-02T00:00:00Z"
    for path in ("/jobs", f"/archive?entity=Message&{period}"):
        assert httpx.get(server.gateway.url + path, headers=headers).status_code == 403
