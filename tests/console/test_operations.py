"""The pages of operators: what failed is found, redriven and counted; nobody else sees them."""

from __future__ import annotations

import re

import httpx
import pytest
from mypy_boto3_dynamodb import DynamoDBClient
from playwright.sync_api import Page, expect

from tests.console.browser import check_accessibility, sign_in
from tests.console.stack import OPERATOR, TENANTS, ConsoleStack
from tests.console.test_items import call

PAGES = {
    "health": "Health",
    "quarantine": "Quarantine",
    "redrives": "Redrives",
    "generations": "Generations",
    "verify": "Verification",
    "audit": "Audit of the archive",
    "tenants": "Tenants",
    "usage": "Usage",
    "log": "Log",
}


@pytest.fixture
def operator(anonymous: Page, server: ConsoleStack) -> Page:
    """The console, signed in as an operator."""
    sign_in(anonymous, server.url, OPERATOR)
    return anonymous


def open_address(page: Page, address: str, heading: str) -> None:
    page.evaluate(f"location.hash = '{address}'; 0")
    expect(page.get_by_role("heading", name=heading, exact=True, level=1)).to_be_visible()


def test_a_newcomer_finds_and_redrives_what_failed(operator: Page, server: ConsoleStack) -> None:
    poll = call(server, "POST", "/polls", {"candidates": ["tea", "coffee"]})["id"]
    server.catch_up()
    page = operator

    # Search.
    page.evaluate("location.hash = '#/search/list_contacts'; 0")
    page.get_by_role("searchbox").fill("yama")
    expect(page.locator("mark").first).to_be_visible()

    # Vote, and see the bars move.
    page.evaluate(f"location.hash = '#/polls/{poll}'; 0")
    page.get_by_role("button", name="Vote for tea").click()
    expect(page.locator(".poll-line .total")).to_have_text("1")

    # Poison votes: the next one is not counted.
    open_address(page, "#/ops/health", "Health")
    page.get_by_role("button", name="Poison votes").click()
    page.get_by_role("dialog").get_by_role("button", name="Poison votes").click()
    expect(page.get_by_role("status").filter(has_text="Votes fail from now on")).to_be_visible()
    page.evaluate(f"location.hash = '#/polls/{poll}'; 0")
    page.get_by_role("button", name="Vote for coffee").click()
    expect(page.get_by_text("You voted for coffee")).to_be_visible()
    server.catch_up()
    expect(page.locator(".poll-line .total")).to_have_text("1")

    # It is in quarantine, with both images.
    open_address(page, "#/ops/quarantine", "Quarantine")
    page.get_by_role("table").get_by_role("link", name="Ballot").first.click()
    expect(page.get_by_role("heading", name="Images")).to_be_visible()
    expect(page.get_by_role("cell", name="coffee").first).to_be_visible()
    check_accessibility(page)

    # The cause is removed, and the record redriven with its number confirmed.
    open_address(page, "#/ops/health", "Health")
    page.get_by_role("button", name="Remove the fault").click()
    expect(page.get_by_role("status").filter(has_text="counted again")).to_be_visible()
    open_address(page, "#/ops/quarantine", "Quarantine")
    page.get_by_role("checkbox").first.check()
    # Code can compute it, so it is not left out.
    page.get_by_role("button", name="Dismiss 1 chosen").click()
    expect(page.get_by_text("can be computed: redrive it instead")).to_be_visible()
    page.get_by_role("button", name="Redrive 1 chosen").click()
    page.get_by_role("dialog").get_by_role("button", name="Redrive 1").click()
    expect(page.get_by_text("succeeded")).to_be_visible(timeout=20_000)

    # It is counted.
    page.evaluate(f"location.hash = '#/polls/{poll}'; 0")
    expect(page.locator(".poll-line .total")).to_have_text("2")
    open_address(page, "#/ops/log", "Log")
    expect(page.get_by_role("cell", name="start redrive").first).to_be_visible()


def test_what_no_code_can_compute_is_dismissed(
    operator: Page, server: ConsoleStack, dynamodb: DynamoDBClient
) -> None:
    song = "dismissed-song"
    call(server, "PUT", f"/products/{song}", {"genre": "Rock", "price": "2.00"})
    sold = {"song": song, "at": "2097-05-01T00:00:00Z"}
    spoiled, good = (call(server, "POST", "/sales", sold)["id"] for _ in range(2))
    server.catch_up()
    revenue = "/revenue/2097-05"
    assert call(server, "GET", revenue)["total"] == "4.00"

    # A program writes a price that is no number.
    dynamodb.update_item(
        TableName=server.table_name,
        Key={"PK": {"S": f"{TENANTS[0]}#Sale#{spoiled}"}, "SK": {"S": "-"}},
        UpdateExpression="SET price = :price ADD version :one",
        ExpressionAttributeValues={":price": {"S": "two"}, ":one": {"N": "1"}},
    )
    server.catch_up()

    # Its record is in quarantine; the preview names the item.
    page = operator
    open_address(page, "#/ops/quarantine", "Quarantine")
    page.get_by_role("table").get_by_role("link", name="Sale").first.click()
    expect(page.get_by_text("KeyError: 'N'")).to_be_visible()
    page.get_by_role("button", name="Dismiss").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"{spoiled} / -, which is in no list and no figure")
    dialog.get_by_role("button", name="Dismiss 1").click()
    expect(page.get_by_text("succeeded")).to_be_visible(timeout=20_000)
    open_address(page, "#/ops/quarantine", "Quarantine")
    expect(page.get_by_text("Nothing is set aside")).to_be_visible()

    # The figure is that of the other sale, and 0 when both are removed.
    server.catch_up()
    assert call(server, "GET", revenue)["total"] == "2.00"
    call(server, "DELETE", f"/sales/{spoiled}")
    call(server, "DELETE", f"/sales/{good}")
    server.catch_up()
    assert call(server, "GET", revenue)["count"] == 0


def test_damage_is_found_and_repaired(
    operator: Page, server: ConsoleStack, dynamodb: DynamoDBClient
) -> None:
    contact = call(server, "POST", "/contacts", {"name": "Damaged", "phone": "1"})["id"]
    server.catch_up()
    partition = {"S": f"{TENANTS[0]}#~Contact#{contact}#-"}
    stored = dynamodb.query(
        TableName=server.table_name,
        KeyConditionExpression="PK = :pk",
        ExpressionAttributeValues={":pk": partition},
    )["Items"]
    key = {name: stored[0][name] for name in ("PK", "SK")}
    dynamodb.delete_item(TableName=server.table_name, Key=key)

    # The first run is the preview of a repair: it changes nothing.
    page = operator
    open_address(page, "#/ops/verify", "Verification")
    page.get_by_role("button", name="Verify").click()
    page.get_by_role("dialog").get_by_role("button", name="Verify").click()
    finding = page.get_by_role("row").filter(has_text=contact)
    expect(finding).to_contain_text("row missing damage", timeout=20_000)
    figures = page.get_by_label("Verification", exact=True)
    expect(figures.locator("div").filter(has_text="Write units")).not_to_have_text(re.compile("0$"))
    check_accessibility(page)
    assert "Item" not in dynamodb.get_item(TableName=server.table_name, Key=key)

    page.get_by_role("button", name="Repair").click()
    page.get_by_role("dialog").get_by_role("button", name="Repair").click()
    expect(finding).to_contain_text("row missing repaired", timeout=20_000)
    server.catch_up()
    found = dynamodb.get_item(TableName=server.table_name, Key=key)["Item"]
    assert found["GSI2PK"] == stored[0]["GSI2PK"]


def test_every_page_of_operators_is_accessible(operator: Page) -> None:
    for word, heading in PAGES.items():
        open_address(operator, f"#/ops/{word}", heading)
        expect(operator.locator(".skeleton")).to_have_count(0)
        check_accessibility(operator)


def test_others_neither_see_nor_may_read_them(page: Page, server: ConsoleStack) -> None:
    expect(page.get_by_role("link", name="Home")).to_be_visible()
    expect(page.get_by_role("link", name="Quarantine")).to_have_count(0)
    page.evaluate("location.hash = '#/ops/quarantine'; 0")
    expect(page.get_by_role("heading", level=1)).not_to_have_text("Quarantine")
    for path in ("/ops/health", "/ops/quarantine", "/ops/log"):
        for user in (TENANTS[0], f"{TENANTS[0]}-admin"):
            headers = {"authorization": f"Bearer {server.issuer.make_token(user)}"}
            assert httpx.get(server.gateway.url + path, headers=headers).status_code == 403
