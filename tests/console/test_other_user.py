"""Another user signs in where the first one was: nothing of the first is sent as the second."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser import check_accessibility, sign_in
from tests.console.issuer import PASSWORD, User
from tests.console.stack import ADMIN, TENANTS, ConsoleStack
from tests.console.test_items import call, open_item

SECRET = "confidential"
ADMIN_OF_TENANT = f"{TENANTS[0]}-{ADMIN}"


@pytest.fixture
def page(fresh_page: Page) -> Page:
    """The console with nothing of another test: its session ends here."""
    return fresh_page


def end_session(server: ConsoleStack) -> None:
    """The next request finds that the session has ended; the issuer has forgotten its user."""
    server.issuer.expire_tokens()
    server.issuer.refuses_refresh = True
    server.issuer.sessions.clear()


def open_window(page: Page, user: str) -> Page:
    """The window in which a user is about to sign in."""
    with page.context.expect_page() as opened:
        page.get_by_role("button", name="Sign in again").click()
    window = opened.value
    window.get_by_label("Username").fill(user)
    window.get_by_label("Password").fill(PASSWORD)
    return window


def finish_window(window: Page) -> None:
    """Sign in; the window closes itself."""
    with window.expect_event("close"):
        window.get_by_role("button", name="Sign in").click()


def list_data_calls(server: ConsoleStack) -> list[str]:
    """The requests for anything but the files of the console."""
    files = ("GET /console", "GET /openapi.json")
    return [line for line in server.gateway.calls if not line.startswith(files)]


def expect_dropped(page: Page, server: ConsoleStack, user: str) -> None:
    """Another user signs in: the page says so, forgets the first one, and sends nothing."""
    window = open_window(page, user)
    server.gateway.calls.clear()
    finish_window(window)
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("Another user signed in")
    expect(alert).to_contain_text("nothing of it was sent")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    page.wait_for_timeout(300)
    assert list_data_calls(server) == []
    assert SECRET not in page.url
    assert SECRET not in page.content()


# Another tenant, and another user of the same tenant: both read what the first one wrote.
@pytest.mark.parametrize(
    ("waiting", "other"),
    [("change", TENANTS[1]), ("change", ADMIN_OF_TENANT), ("several", TENANTS[1])],
)
def test_what_waits_for_a_login_is_dropped_when_another_user_signs_in(
    page: Page, server: ConsoleStack, waiting: str, other: str
) -> None:
    if waiting == "change":
        page.evaluate("location.hash = '#/new/create_contact'; 0")
        page.get_by_label("Name").fill(SECRET)
        end_session(server)
        page.get_by_role("button", name="Create").click()
    else:
        page.evaluate("location.hash = '#/search/list_contacts'; 0")
        page.get_by_role("link", name="Yamada Hanako").wait_for()
        end_session(server)
        for text in (SECRET, f"{SECRET} 2"):
            page.get_by_role("searchbox").fill(text)
            page.wait_for_timeout(250)
    expect(page.get_by_role("dialog", name="Your session has ended")).to_be_visible()
    expect_dropped(page, server, other)
    check_accessibility(page)
    # The second user finds a page of their own.
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator(".user small")).to_contain_text(server.issuer.find_user(other).tenant)
    assert SECRET not in page.url
    page.go_back()
    page.wait_for_timeout(300)
    assert [line for line in server.gateway.calls if SECRET in line] == []
    assert call(server, "GET", f"/contacts?q={SECRET}")["items"] == []


def test_the_same_subject_with_another_tenant_is_another_user(
    page: Page, server: ConsoleStack
) -> None:
    before = server.issuer.users
    page.evaluate("location.hash = '#/new/create_contact'; 0")
    page.get_by_label("Name").fill(SECRET)
    end_session(server)
    page.get_by_role("button", name="Create").click()
    page.get_by_role("dialog").wait_for()
    server.issuer.users = [User(TENANTS[0], TENANTS[1])]
    try:
        expect_dropped(page, server, TENANTS[0])
    finally:
        server.issuer.users = before


def test_the_same_user_with_other_roles_goes_on(page: Page, server: ConsoleStack) -> None:
    before = server.issuer.users
    contact = call(server, "POST", "/contacts", {"name": "Roles", "phone": "1"})
    open_item(page, contact)
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Name").fill("With other roles")
    end_session(server)
    page.get_by_role("button", name="Save").click()
    page.get_by_role("dialog").wait_for()
    server.issuer.users = [User(TENANTS[0], TENANTS[0], ["another"])]
    try:
        finish_window(open_window(page, TENANTS[0]))
        expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    finally:
        server.issuer.users = before
    call(server, "DELETE", f"/contacts/{contact['id']}")


def test_a_window_that_is_answered_after_the_sign_out_signs_nobody_in(
    page: Page, server: ConsoleStack
) -> None:
    end_session(server)
    page.evaluate("location.hash = '#/limits'; 0")
    page.get_by_role("dialog").wait_for()
    window = open_window(page, TENANTS[1])
    page.route("**/logout**", lambda route: route.fulfill(status=204))  # it stays
    page.get_by_role("button", name="Not now").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    server.gateway.calls.clear()
    finish_window(window)
    page.wait_for_timeout(300)
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    assert list_data_calls(server) == []


@pytest.mark.parametrize("way", ["sign out", "load again"])
def test_addresses_of_a_user_are_not_followed_for_another_one(
    page: Page, server: ConsoleStack, way: str
) -> None:
    page.evaluate("location.hash = '#/search/list_contacts'; 0")
    page.get_by_role("searchbox").fill(SECRET)
    expect(page.get_by_role("heading", name="Nothing")).to_be_visible()
    assert SECRET in page.url
    page.evaluate("location.hash = '#/limits'; 0")
    page.get_by_text("of 1000").wait_for()
    if way == "sign out":
        page.get_by_role("button", name="Sign out").click()
    else:
        page.go_back()
        page.get_by_role("searchbox").wait_for()
        server.issuer.sessions.clear()
        page.reload()
    button = page.get_by_role("button", name="Sign in")
    expect(button).to_be_visible()
    server.gateway.calls.clear()
    button.click()
    page.get_by_label("Username").fill(TENANTS[1])
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator(".user small")).to_contain_text(TENANTS[1])
    for _ in range(6):
        page.go_back()
        page.wait_for_timeout(150)
        if page.get_by_role("button", name="Sign in").count():
            page.get_by_role("button", name="Sign in").click()
            page.wait_for_timeout(300)
    assert [line for line in server.gateway.calls if SECRET in line] == []


def test_signing_out_revokes_the_refresh_token(page: Page, server: ConsoleStack) -> None:
    page.get_by_role("heading", name="Home", level=1).wait_for()
    before = {*server.issuer.refresh_tokens}
    server.issuer.calls.clear()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    check_accessibility(page)
    assert server.issuer.calls.count("POST /oauth2/revoke") == 1
    assert len(before - {*server.issuer.refresh_tokens}) == 1


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("error=x", "The login was not started here."),
        ("code=stolen&state=made-up", "The login was not started here."),
        ("prompt=none", None),
    ],
)
def test_the_page_shows_no_text_of_its_address(
    anonymous: Page, server: ConsoleStack, query: str, shown: str | None
) -> None:
    attack = "Your%20password%20has%20expired.%20Call%20555-0100"
    anonymous.goto(f"{server.url}?{query}&error_description={attack}&error_uri={attack}#/{attack}")
    expect(anonymous.get_by_role("button", name="Sign in")).to_be_visible()
    if shown:
        expect(anonymous.get_by_role("alert")).to_have_text(shown)
    expect(anonymous.get_by_text(re.compile("555"))).to_have_count(0)


def test_a_refusal_of_the_issuer_is_told_in_words_of_the_page(
    anonymous: Page, server: ConsoleStack
) -> None:
    def refuse(route: object) -> None:
        address = re.search(r"state=([^&]+)", route.request.url)  # type: ignore[attr-defined]
        assert address is not None
        location = f"{server.url}?error=access_denied&error_description=555&state={address[1]}"
        route.fulfill(status=302, headers={"location": location})  # type: ignore[attr-defined]

    anonymous.route("**/oauth2/authorize**", refuse)
    anonymous.goto(server.url)
    anonymous.get_by_role("button", name="Sign in").click()
    expect(anonymous.get_by_role("alert")).to_contain_text("The login was cancelled or not allowed")
    expect(anonymous.get_by_text(re.compile("555"))).to_have_count(0)
    anonymous.unroute_all()
    sign_in(anonymous, server.url, TENANTS[0])
    expect(anonymous.get_by_role("heading", name="Home", level=1)).to_be_visible()
