"""The billing service of `examples/billing.py`: money does not fall through it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from examples import invoicing
from examples.billing import domain
from tests.support import billing_domains, invoicing_domains
from tests.support.api_client import Client
from tests.support.deployment import Served, serving_in_memory, serving_on
from tests.support.how_to_page import HowToPage
from tests.support.repository import ROOT

INVOICE: dict[str, Any] = {
    "plan": "pro",
    "status": "open",
    "issued": "2026-11-02",
    "due": "2026-11-30",
    "lines": [
        {"text": "November", "price": "49.90"},
        {"text": "Seats", "quantity": 3, "price": "5"},
    ],
}
PAID = {"status": "paid", "paid_on": "2026-11-20"}


@pytest.fixture(scope="module")
def served(dynamo: str, dynamodb: DynamoDBClient) -> Iterator[Served]:
    ledger = Daicho(domain).append_generations(Ledger())
    with serving_on(dynamo, dynamodb, billing_domains.__name__, ledger) as found:
        yield found


def test_a_month_of_a_billing_service(served: Served) -> None:
    clerk = Client(served.handler, "acme", {"sub": "kim", "cognito:groups": ["clerk"]})
    accountant = Client(served.handler, "acme", {"sub": "ann", "cognito:groups": ["accountant"]})
    plan = {"name": "Pro", "price": "49.90"}
    assert clerk("PUT", "/plans/pro", plan).fields == {"price"}
    accountant.good("PUT", "/plans/pro", plan)
    assert clerk("PATCH", "/plans/pro", {"price": "0"}).status == 403
    clerk.good("PATCH", "/plans/pro", {"name": "Professional"})

    customer = clerk.good("POST", "/customers", {"name": "Yamada", "email": "y@example.com"})
    taken = clerk("POST", "/customers", {"name": "Other", "email": "Y@EXAMPLE.com"})
    assert (taken.status, taken.fields) == (409, {"email"})
    subscribed = {"customer": customer["id"], "plan": "pro", "begun": "2026-11-01"}
    clerk.good("POST", "/subscriptions", subscribed)

    invoice = clerk.good("POST", "/invoices", {**INVOICE, "customer": customer["id"]})
    assert (invoice["total"], invoice["name"]) == ("64.90", "Yamada")
    there = f"/invoices/{invoice['id']}"
    assert clerk("PATCH", there, PAID).status == 403
    assert accountant("PATCH", there, {"status": "paid"}).fields == {"status", "paid_on"}
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: accountant("PATCH", there, PAID).status, range(8)))
    assert sorted(answers) == [200, *[409] * 7]
    for change in ({"lines": [{"text": "Gift", "price": "9999.00"}]}, {"paid_on": "2026-11-21"}):
        assert accountant("PATCH", there, change).status == 409
    assert accountant("DELETE", there).status == 409

    refused = clerk("DELETE", f"/customers/{customer['id']}")
    assert refused.json["detail"] == f"Invoice {invoice['id']} refers to it by customer"
    assert clerk("DELETE", "/plans/pro").status == 409
    other = clerk.good("POST", "/customers", {"name": "Gone", "email": "g@example.com"})
    clerk.good("POST", "/subscriptions", {**subscribed, "customer": other["id"]})
    assert clerk("DELETE", f"/customers/{other['id']}").status == 204
    served.catch_up()
    assert clerk.everything(f"/customers/{other['id']}/subscriptions") == []
    assert clerk.everything("/plan-revenue/2026-11") == [
        {"plan": "pro", "count": 1, "total": "64.90", "rank": 1}
    ]


def test_a_payment_is_told_and_leaves_a_receipt() -> None:
    daicho = Daicho(domain)
    ledger = daicho.append_generations(Ledger(project="Shop"))
    with serving_in_memory(billing_domains.__name__, ledger, daicho.subscribers) as served:
        ann = Client(served.handler, "acme", {"sub": "ann", "cognito:groups": ["accountant"]})
        ann.good("PUT", "/plans/pro", {"name": "Pro", "price": "49.90"})
        customer = ann.good("POST", "/customers", {"name": "Yamada", "email": "y@example.com"})
        invoice = ann.good("POST", "/invoices", {**INVOICE, "customer": customer["id"]})
        served.catch_up()
        there = f"/receipts/{invoice['id']}"
        assert ann("GET", there).status == 404
        ann.good("PATCH", f"/invoices/{invoice['id']}", PAID)
        served.catch_up()
        receipt = ann.good("GET", there)
        assert (
            receipt.items()
            >= {
                "invoice": invoice["id"],
                "customer": customer["id"],
                "paid_on": "2026-11-20",
                "total": "64.90",
                "booked_by": "ann",
            }.items()
        )
        assert ann("PATCH", there, {"total": "0"}).status == 405
        other = Client(served.handler, "globex", {"sub": "ann", "cognito:groups": ["accountant"]})
        assert other("GET", there).status == 404
        assert ann.everything(f"/customers/{customer['id']}/receipts") == [receipt]


def test_the_requests_of_the_tutorial() -> None:
    page = HowToPage.read(ROOT / "docs/tutorial/billing-service.md")
    daicho = Daicho(domain)
    ledger = daicho.append_generations(Ledger(project="Shop"))
    with serving_in_memory(billing_domains.__name__, ledger, daicho.subscribers) as served:
        ann = Client(served.handler, "acme", {"sub": "ann", "cognito:groups": ["accountant"]})
        variables: dict[str, str] = {}

        def send(line: str) -> tuple[int, Any]:
            """Send a request of the page, as curl would."""
            line = re.sub(r"'?\$([A-Z]+)'?", lambda m: variables.get(m[1], ""), line)
            words = shlex.split(line)
            method = words[words.index("-X") + 1] if "-X" in words else "GET"
            body = json.loads(words[words.index("-d") + 1]) if "-d" in words else None
            answer = ann(method, words[-1], body)
            served.catch_up()
            return answer.status, answer.json

        plan, customer, invoice, delete, pay, receipt = (
            command.line for command in page.commands if command.line.startswith("curl")
        )
        assert send(plan)[0] == 201
        variables["CUSTOMER"] = send(customer)[1]["id"]
        variables["ID"] = send(invoice)[1]["id"]
        assert send(delete)[0] == 409
        assert send(receipt)[0] == 404
        assert send(pay)[1]["status"] == "paid"
        found = send(receipt)[1]
        assert (found["total"], found["booked_by"]) == ("49.90", "ann")


def test_an_empty_list_of_own_items_names_the_parameter_for_those_of_others() -> None:
    ledger = Daicho(invoicing.domain).append_generations(Ledger())
    with serving_in_memory(invoicing_domains.__name__, ledger) as served:
        ann = Client(served.handler, "acme", {"sub": "ann", "cognito:groups": ["accountant"]})
        kim = Client(served.handler, "acme", {"sub": "kim"})
        note = "no item is owned by you; owner= names another owner"
        assert ann.good("GET", "/invoices") == {"items": [], "cursor": None, "note": note}
        for client, url in ((kim, "/invoices"), (ann, "/invoices?owner=kim")):
            assert client.good("GET", url) == {"items": [], "cursor": None}


def test_the_example_is_short() -> None:
    assert len((ROOT / "examples/billing.py").read_text("utf-8").splitlines()) < 200
