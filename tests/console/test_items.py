"""Items: hostile texts as text, a conflict side by side, nothing typed is lost."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.console.browser import check_accessibility
from tests.console.stack import TENANTS, ConsoleStack

HOSTILE = {
    "markup": "<img src=x onerror=\"document.title='attacked'\"></script><script>alert(1)</script>",
    "right to left": "\u202eevil\u202c \u2067مرحبا\u2069",
}


def call(server: ConsoleStack, method: str, path: str, body: Any = None, *, key: str = "") -> Any:
    """Send a request of the first tenant; ``key``: the Idempotency-Key."""
    headers = {"authorization": f"Bearer {server.issuer.make_token(TENANTS[0])}"}
    headers |= {"idempotency-key": key} if key else {}
    answer = httpx.request(method, server.gateway.url + path, headers=headers, json=body)
    assert answer.is_success, answer.text
    return answer.json() if answer.content else None


@pytest.fixture
def contact(server: ConsoleStack) -> dict[str, Any]:
    made: dict[str, Any] = call(server, "POST", "/contacts", {"name": "Conflict", "phone": "1"})
    return made


def open_item(page: Page, contact: dict[str, Any]) -> None:
    page.evaluate(f"location.hash = '#/item/get_contact/{contact['id']}'; 0")
    page.get_by_role("button", name="Edit").wait_for()


@pytest.mark.parametrize("name", ["markup", "right to left"])
def test_hostile_texts_are_text(page: Page, server: ConsoleStack, name: str) -> None:
    text = HOSTILE[name]
    made = call(server, "POST", "/contacts", {"name": text[:256], "email": text})
    open_item(page, made)
    expect(page.locator("dd").get_by_text(text[:20], exact=False).first).to_be_visible()
    assert page.locator("main img, main script").count() == 0
    page.get_by_role("button", name="JSON").click()
    expect(page.get_by_role("region", name="JSON")).to_be_visible()
    page.evaluate("location.hash = '#/list/list_contacts?$view=contacts.contacts'; 0")
    page.get_by_role("table").first.wait_for()
    assert page.locator("main img, main script").count() == 0
    assert page.title() != "attacked"
    call(server, "DELETE", f"/contacts/{made['id']}")


def test_a_long_value_is_shown_in_part(page: Page, server: ConsoleStack) -> None:
    made = call(server, "POST", "/contacts", {"name": "Long", "email": "長" * 21_000 + "end"})
    open_item(page, made)
    expect(page.get_by_text("end")).to_have_count(0)
    page.get_by_role("button", name="Show all (63.0 kB)").click()
    expect(page.get_by_text("end").first).to_be_visible()
    check_accessibility(page)
    call(server, "DELETE", f"/contacts/{made['id']}")


def test_a_conflict_shows_both_sides_and_each_field_is_chosen(
    fresh_page: Page, server: ConsoleStack, contact: dict[str, Any]
) -> None:
    page = fresh_page
    open_item(page, contact)
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Name").fill("Mine")
    page.get_by_label("Email").fill("mine@example.com")
    call(server, "PATCH", f"/contacts/{contact['id']}", {"name": "Theirs", "company": "Theirs Ltd"})
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="It was changed meanwhile")).to_be_visible()
    check_accessibility(page)
    name = page.get_by_role("group", name="Name")
    expect(name).to_contain_text("Mine")
    expect(name).to_contain_text("Theirs")
    name.get_by_label("Stored").check()
    page.get_by_role("button", name="Save the choice").click()
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    stored = call(server, "GET", f"/contacts/{contact['id']}")
    assert (stored["name"], stored["company"], stored["email"]) == (
        "Theirs",
        "Theirs Ltd",
        "mine@example.com",
    )
    assert stored["version"] == 3


@pytest.mark.parametrize("fault", ["busy", "offline"])
def test_a_failure_keeps_what_was_typed(
    fresh_page: Page, server: ConsoleStack, contact: dict[str, Any], fault: str
) -> None:
    page = fresh_page
    open_item(page, contact)
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Name").fill("Kept")
    if fault == "busy":
        server.switches.fail(f"/contacts/{contact['id']}")
    else:
        server.switches.offline = True
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Name")).to_have_value("Kept")
    server.switches.reset()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    assert call(server, "GET", f"/contacts/{contact['id']}")["name"] == "Kept"


def test_an_expired_session_keeps_the_edit(
    fresh_page: Page, server: ConsoleStack, contact: dict[str, Any]
) -> None:
    page = fresh_page
    open_item(page, contact)
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Name").fill("After the login")
    server.issuer.expire_tokens()
    server.issuer.refuses_refresh = True
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog", name="Your session has ended")).to_be_visible()
    check_accessibility(page)
    with page.context.expect_page():  # the issuer remembers the user: the window closes at once
        page.get_by_role("button", name="Sign in again").click()
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    assert call(server, "GET", f"/contacts/{contact['id']}")["name"] == "After the login"


def test_an_expired_token_is_refreshed_unseen(
    page: Page, server: ConsoleStack, contact: dict[str, Any]
) -> None:
    open_item(page, contact)
    server.issuer.expire_tokens()
    page.evaluate("location.hash = '#/limits'; 0")
    expect(page.get_by_text("of 1,000").or_(page.get_by_text("of 1000"))).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_leaving_an_edit_asks(page: Page, contact: dict[str, Any]) -> None:
    open_item(page, contact)
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Name").fill("Not saved")
    page.get_by_role("link", name="Home").click()
    page.get_by_role("button", name="Stay").click()
    expect(page.get_by_label("Name")).to_have_value("Not saved")
    page.get_by_role("link", name="Home").click()
    page.get_by_role("button", name="Leave").click()
    expect(page.get_by_role("heading", name="Home", level=1)).to_be_visible()


def test_an_item_is_created_and_deleted(page: Page, server: ConsoleStack) -> None:
    page.evaluate("location.hash = '#/new/create_contact'; 0")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("alert").first).to_be_visible()
    check_accessibility(page)
    page.get_by_label("Name").fill("Created here")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="Created here")).to_be_visible()
    page.get_by_role("button", name="curl").click()
    expect(page.get_by_role("region", name="curl command")).to_contain_text("Bearer $TOKEN")
    check_accessibility(page)
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Contact deleted")).to_be_visible()
    assert [item["name"] for item in call(server, "GET", "/contacts?q=created")["items"]] == []


def test_versions_are_shown_and_restored(page: Page, server: ConsoleStack) -> None:
    call(server, "PUT", "/articles/history", {"title": "First", "text": "One", "author": "me"})
    call(server, "PATCH", "/articles/history", {"title": "Second"})
    page.evaluate("location.hash = '#/item/get_article/history'; 0")
    page.get_by_role("button", name="Versions").click()
    page.get_by_text("Version 1").click()
    check_accessibility(page)
    page.get_by_role("button", name="Restore this version").click()
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    expect(page.get_by_text("Version 1 restored")).to_be_visible()
    assert call(server, "GET", "/articles/history")["title"] == "First"


def test_a_section_keeps_its_numbers(page: Page, server: ConsoleStack) -> None:
    exact = {"numbers": {"a": 9007199254740993}}
    call(server, "PUT", "/documents/exact", {"title": "Exact", "sections": exact})
    page.evaluate("location.hash = '#/item/get_document/exact'; 0")
    page.get_by_role("button", name="Sections").click()
    page.get_by_role("button", name="numbers").click()
    page.locator(".section").get_by_role("button", name="Edit").click()
    text = page.get_by_label("Section numbers")
    text.fill(text.input_value().replace("{", '{"b": -9007199254740995,'))
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Section saved")).to_be_visible()
    stored = call(server, "GET", "/documents/exact/numbers")
    assert stored == {"a": 9007199254740993, "b": -9007199254740995}
