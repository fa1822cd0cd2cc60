"""The harness itself: what it serves, and that it finds what a page does wrong."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page

from tests.console.browser import check_accessibility, open_page
from tests.console.stack import ConsoleStack


def test_a_script_error_fails_a_test(browser: Browser, server: ConsoleStack) -> None:
    with pytest.raises(AssertionError, match="planted"), open_page(browser) as page:
        page.goto(server.gateway.url + "/")
        page.evaluate("setTimeout(() => { throw new Error('planted') })")
        page.wait_for_timeout(50)


def test_a_violation_of_the_policy_fails_a_test(browser: Browser, server: ConsoleStack) -> None:
    with pytest.raises(AssertionError, match="policy: style-src-attr"), open_page(browser) as page:
        page.goto(server.url)
        page.evaluate("document.body.setAttribute('style', 'color: red'); 0")
        page.wait_for_timeout(500)


def test_axe_finds_what_is_not_accessible(anonymous: Page, server: ConsoleStack) -> None:
    anonymous.goto(server.gateway.url + "/")
    check_accessibility(anonymous)
    anonymous.evaluate("document.body.append(document.createElement('img')); 0")
    with pytest.raises(AssertionError, match="image-alt"):
        check_accessibility(anonymous)
