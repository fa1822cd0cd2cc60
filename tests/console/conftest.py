"""One server and one browser for all browser tests of the console."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mypy_boto3_dynamodb import DynamoDBClient
from playwright.sync_api import Browser, Error, Page, sync_playwright

from tests.console import install
from tests.console.browser import launch, open_page, sign_in
from tests.console.stack import TENANTS, ConsoleStack, serve_console


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    install.install()
    with sync_playwright() as playwright:
        try:
            opened = launch(playwright)
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
def page(anonymous: Page, server: ConsoleStack) -> Page:
    """The console, signed in as a user of the first tenant."""
    sign_in(anonymous, server.url, TENANTS[0])
    return anonymous
