"""One server and one browser for all browser tests of the console."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mypy_boto3_dynamodb import DynamoDBClient
from playwright.sync_api import Browser, Error, Page, expect, sync_playwright

from tests.console import install
from tests.console.browser import PATIENCE_MS, Watch, launch, open_page, sign_in, watch_page
from tests.console.stack import TENANTS, ConsoleStack, serve_console


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    install.install()
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        try:
            opened = launch(playwright.chromium)
        except Error as error:
            if install.has_own_browser():
                raise
            pytest.skip(f"npm has no browser for this machine, and no Chrome is installed: {error}")
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def stack(dynamo: str, dynamodb: DynamoDBClient) -> Iterator[ConsoleStack]:
    with serve_console(dynamo, dynamodb) as served:
        yield served


@pytest.fixture
def server(stack: ConsoleStack) -> Iterator[ConsoleStack]:
    """The stack, with which nothing goes wrong at a test's beginning."""
    stack.switches.reset()
    stack.issuer.refuses_refresh = False
    stack.gateway.calls.clear()
    yield stack
    stack.switches.reset()
    assert stack.errors == []


@pytest.fixture
def anonymous(browser: Browser, server: ConsoleStack) -> Iterator[Page]:
    """A page without a user."""
    assert server.url
    with open_page(browser) as page:
        yield page


@pytest.fixture
def fresh_page(anonymous: Page, server: ConsoleStack) -> Page:
    """The console, signed in as a user of the first tenant, with nothing of another test."""
    sign_in(anonymous, server.url, TENANTS[0])
    return anonymous


@pytest.fixture(scope="module")
def signed_in(browser: Browser, stack: ConsoleStack) -> Iterator[tuple[Page, Watch]]:
    """The console, signed in once for all tests of a module."""
    with watch_page(browser) as (page, watch):
        sign_in(page, stack.url, TENANTS[0])
        yield page, watch


@pytest.fixture
def page(signed_in: tuple[Page, Watch], server: ConsoleStack) -> Iterator[Page]:
    """The console at its start; what another test had typed is dropped."""
    page, watch = signed_in
    assert server.url
    page.emulate_media(color_scheme=None)
    page.set_viewport_size({"width": 1280, "height": 720})
    page.evaluate("location.hash = '#/'; 0")
    leave = page.get_by_role("button", name="Leave")
    home = page.get_by_role("heading", name="Home", level=1)
    home.or_(leave).first.wait_for()
    if leave.count():
        leave.click()
        home.wait_for()
    yield page
    watch.check()
