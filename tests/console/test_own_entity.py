"""An entity of one's own: searches, lists, figures and forms without any code of the page."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mypy_boto3_dynamodb import DynamoDBClient
from playwright.sync_api import Browser, Page, expect

from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from tests.console.browser import check_accessibility, open_page, sign_in
from tests.console.stack import ROOT, TENANTS, ConsoleStack
from tests.console.test_items import call
from tests.support.dynoxide import create_table

PACKAGE = "own_domains"


@pytest.fixture
def own(
    dynamo: str, dynamodb: DynamoDBClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ConsoleStack]:
    """The stack of a project that has the entity of the tutorial, and no other."""
    folder = tmp_path / PACKAGE
    folder.mkdir()
    (folder / "__init__.py").touch()
    shutil.copy(ROOT / "examples/tickets.py", folder)
    monkeypatch.syspath_prepend(str(tmp_path))
    package = importlib.import_module(PACKAGE)
    ledger = Daicho.discover(package).append_generations(Ledger())
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamo)
    monkeypatch.setenv("POWERTOOLS_TRACE_DISABLED", "true")
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Daicho")
    name = create_table(dynamodb)
    with ConsoleStack(dynamo, dynamodb, name, ledger=ledger, DOMAIN_PACKAGE=PACKAGE) as served:
        yield served
    dynamodb.delete_table(TableName=name)
    for loaded in [each for each in sys.modules if each.partition(".")[0] == PACKAGE]:
        del sys.modules[loaded]
    assert served.errors == []


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
    page.get_by_label("Month").fill("2026-11")
    expect(page.get_by_text("facilities").first).to_be_visible()
