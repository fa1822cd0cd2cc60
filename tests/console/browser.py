"""The browser of the tests, and what a page must never do: errors, reports, violations."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserType, ConsoleMessage, Page

from tests.console.install import BROWSER, FOLDER, has_own_browser
from tests.console.issuer import PASSWORD

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
THEMES = ("light", "dark")
RULES_OF_COLOURS = ["color-contrast", "link-in-text-block"]
"""What a theme may break; the other rules find the same in each of them."""
FLAGS = ("--no-sandbox", "--disable-gpu")
"""Only our own pages are opened."""
NETWORK = re.compile(r"Failed to load resource")
"""What the browser writes for each answer that is an error: tests plant those."""
PATIENCE_MS = 30_000
"""Milliseconds to wait for anything."""
_REPORT = """addEventListener("securitypolicyviolation", (event) =>
  reportViolation(`${event.effectiveDirective} ${event.blockedURI} ${event.sample}`));"""


def launch(chromium: BrowserType) -> Browser:
    """The browser that npm has, the one of ``CHROME``, or an installed Chrome.

    Raises:
        playwright.sync_api.Error: there is none of these.
    """
    chosen = os.environ.get("CHROME")
    if chosen:
        return chromium.launch(executable_path=chosen, args=[*FLAGS])
    if not has_own_browser():
        return chromium.launch(channel="chrome")
    own = {
        "LD_LIBRARY_PATH": str(BROWSER / "al2023/lib"),
        "FONTCONFIG_PATH": str(BROWSER / "fonts"),
    }
    return chromium.launch(
        executable_path=BROWSER / "chromium", args=[*FLAGS], env={**os.environ, **own}
    )


@dataclass
class Watch:
    """What went wrong in a page, beside what a test looks at."""

    wrong: list[str] = field(default_factory=list)

    def observe(self, page: Page) -> None:
        """Note errors of scripts, errors in the browser's console, violations of the policy."""
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("console", self._read_message)

    def report_violation(self, _: Any, text: str) -> None:
        """A violation of the content security policy."""
        self.wrong.append(f"policy: {text}")

    def _read_message(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not NETWORK.search(message.text):
            self.wrong.append(f"{message.type}: {message.text}")

    def check(self) -> None:
        """Fail if anything went wrong."""
        assert not self.wrong, self.wrong


@contextmanager
def open_page(browser: Browser, **options: Any) -> Iterator[Page]:
    """A page in a fresh context; at the end it must have reported nothing."""
    with watch_page(browser, **options) as (page, _):
        yield page


@contextmanager
def watch_page(browser: Browser, **options: Any) -> Iterator[tuple[Page, Watch]]:
    """The same, with what it has reported until now."""
    settings = {"locale": "en-US", "timezone_id": "UTC", **options}
    context = browser.new_context(**settings)
    context.set_default_timeout(PATIENCE_MS)
    watch = Watch()
    context.expose_binding("reportViolation", watch.report_violation)
    context.add_init_script(_REPORT)
    page = context.new_page()
    watch.observe(page)
    try:
        yield page, watch
        watch.check()
    finally:
        context.close()


def sign_in(page: Page, url: str, user: str, password: str = PASSWORD) -> None:
    """Open the console and sign in with the issuer's form; the page may ask for a click first."""
    page.goto(url)
    form = page.get_by_label("Username")
    button = page.get_by_role("button", name=re.compile("sign in", re.IGNORECASE))
    form.or_(button).first.wait_for()
    if not form.count():
        button.click()
    form.fill(user)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(re.compile(re.escape(url) + r"(#.*)?$"))
    page.locator(".user small").wait_for()  # until then it may open the address of before


def check_accessibility(page: Page, themes: Sequence[str] = THEMES) -> None:
    """Assert that axe finds nothing in the page, by default light and dark.

    The page's policy refuses a script tag: the source is evaluated, and its value is not wanted.
    """
    if page.evaluate("typeof axe === 'undefined'"):
        page.evaluate(read_axe() + ";0")
    for theme in themes:
        page.emulate_media(color_scheme="light" if theme == "light" else "dark")
        found = page.evaluate(
            "async (rules) => (await axe.run(document, {runOnly: rules})).violations"
            ".map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(' ')}`)",
            RULES if theme == themes[0] else RULES_OF_COLOURS,
        )
        assert found == [], f"{theme}: {found}"
    page.emulate_media(color_scheme=None)


@cache
def read_axe() -> str:
    """The source of axe."""
    return Path(FOLDER / "node_modules/axe-core/axe.min.js").read_text("utf-8")
