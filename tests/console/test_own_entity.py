"""An entity of one's own: searches, lists, figures and forms without any code of the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from mypy_boto3_dynamodb import DynamoDBClient
from playwright.sync_api import Browser, Page, expect

from tests.console.browser import check_accessibility, open_page, sign_in
from tests.console.own_project import serve_own_project
from tests.console.stack import ROOT, TENANTS, ConsoleStack
from tests.console.test_items import call


@pytest.fixture
def own(dynamo: str, dynamodb: DynamoDBClient, tmp_path: Path) -> Iterator[ConsoleStack]:
    """The stack of a project that has the entity of the tutorial, and no other."""
    with serve_own_project(dynamo, dynamodb, tmp_path, ROOT / "examples/tickets.py") as served:
        yield served


@pytest.fixture
def own_page(browser: Browser, own: ConsoleStack) -> Iterator[Page]:
    with open_page(browser) as page:
        sign_in(page, own.url, TENANTS[0])
        yield page


def test_the_entity_of_the_tutorial_appears(own_page: Page, own: ConsoleStack) -> None:
    page = own_page
    navigation = page.get_by_role("navigation", name="Pages")
    expect(navigation.get_by_role("link", name="Tickets")).to_be_visible()
    expect(navigation.get_by_role("link", name="Polls")).to_have_count(0)

    # Its form has the fields that are declared, with their types and choices.
    page.evaluate("location.hash = '#/new/create_ticket'; 0")
    page.get_by_label("Title").fill("Printer is on fire")
    page.get_by_label("Team").fill("facilities")
    page.get_by_label("Opened").fill("2026-11-20")
    page.get_by_label("Minutes").fill("90")
    check_accessibility(page)
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="Printer is on fire", level=1)).to_be_visible()
    own.catch_up()

    # Its search, its list, its figure.
    page.evaluate("location.hash = '#/search'; 0")
    page.get_by_role("searchbox").fill("prin")
    expect(page.get_by_role("link", name="Printer is on fire")).to_be_visible()
    page.evaluate("location.hash = '#/entity/Ticket'; 0")
    expect(page.get_by_role("heading", name="Tickets", level=1)).to_be_visible()
    assert call(own, "GET", "/effort/2026-11")["items"][0]["total"] == 90
    page.evaluate("location.hash = '#/charts'; 0")
    page.get_by_role("link", name="Rank team by month").click()
    page.get_by_label("Month", exact=True).fill("2026-11")
    expect(page.get_by_text("facilities").first).to_be_visible()
