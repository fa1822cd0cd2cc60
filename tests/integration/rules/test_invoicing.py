"""The invoices of the tutorial, over the API in memory."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho.book.book import Book
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.query.access import Access
from daicho.testing import MemoryDeployment
from daicho.web.api import Api
from examples.invoicing import domain
from tests.support.api_client import Client

DAICHO = Daicho(domain)
INVOICE: dict[str, Any] = {
    "number": "R-1",
    "customer": "Yamada",
    "country": "JP",
    "issued": "2026-11-02",
    "due": "2026-11-30",
    "lines": [
        {"text": "Repair", "quantity": 3, "price": "7.10"},
        {"text": "Travel", "price": "9.80"},
    ],
}


class Office:
    """The API, and its callers: two users, and an accountant."""

    def __init__(self) -> None:
        self.deployment = MemoryDeployment(DAICHO.append_generations(Ledger()))
        self.api: Any = Api(DAICHO, self.open_book)
        self.mika, self.sato = self.build_client("mika"), self.build_client("sato")
        self.accountant = self.build_client("kato", "accountant")

    def open_book(self, access: Access) -> Book:
        return self.deployment.open_book(access.tenant, access)

    def build_client(self, subject: str, *groups: str) -> Client:
        claims = {"sub": subject, "cognito:groups": [*groups]}
        return Client(self.api, "acme", claims)

    def create(self, client: Client, number: str, *states: str, **values: Any) -> dict[str, Any]:
        invoice = client.good("POST", "/invoices", INVOICE | {"number": number} | values)
        for state in states:
            invoice = client.good("PATCH", f"/invoices/{invoice['id']}", {"status": state})
        self.deployment.catch_up()
        return dict(invoice)


@pytest.fixture
def office() -> Office:
    return Office()


def test_an_invoice_has_the_total_of_its_lines_and_belongs_to_its_creator(office: Office) -> None:
    invoice = office.create(office.mika, "R-1")
    assert (invoice["total"], invoice["owner"], invoice["status"]) == ("31.10", "mika", "draft")
    there = f"/invoices/{invoice['id']}"
    changed = office.mika.good("PATCH", there, {"lines": INVOICE["lines"][1:]})
    assert changed["total"] == "9.80"
    assert office.mika("PATCH", there, {"total": "0.00"}).fields == {"total"}
    assert office.mika("POST", "/invoices", INVOICE | {"total": "0.00"}).fields == {"total"}


def test_a_number_is_given_once_whatever_its_case(office: Office) -> None:
    office.create(office.mika, "R-1")
    for client in (office.mika, office.sato):
        answer = client("POST", "/invoices", INVOICE | {"number": "r-1"})
        assert (answer.status, answer.fields) == (409, {"number"})
    assert len(office.accountant.everything("/invoices?number=R-1")) == 1


def test_an_invoice_is_due_after_its_issue(office: Office) -> None:
    answer = office.mika("POST", "/invoices", INVOICE | {"due": "2026-11-01"})
    assert (answer.status, answer.fields) == (422, {"issued", "due"})
    assert "must not be before the day of issue" in answer.json["detail"]
    invoice = office.create(office.mika, "R-2")
    assert office.mika("PATCH", f"/invoices/{invoice['id']}", {"due": "2026-11-01"}).status == 422


def test_a_draft_is_not_paid_before_it_is_open(office: Office) -> None:
    there = f"/invoices/{office.create(office.mika, 'R-1')['id']}"
    answer = office.mika("PATCH", there, {"status": "paid"})
    assert answer.status == 409
    assert "'draft'" in answer.json["detail"] and "'paid'" in answer.json["detail"]
    for state in ("open", "paid"):
        assert office.mika.good("PATCH", there, {"status": state})["status"] == state
    assert office.mika("PATCH", there, {"status": "void"}).status == 409


def test_others_do_not_see_an_invoice_and_an_accountant_does(office: Office) -> None:
    invoice = office.create(office.mika, "R-1", "open")
    there = f"/invoices/{invoice['id']}"
    assert office.sato("GET", there).status == 404
    assert office.sato("PATCH", there, {"customer": "Sato"}).status == 404
    assert office.sato.everything("/invoices?number=R-1") == []
    assert office.sato.everything("/invoices") == []
    for client in (office.mika, office.accountant):
        assert client.good("GET", there) == invoice
        assert client.everything("/invoices?number=R-1") == [invoice]
    assert office.mika.everything("/invoices") == [invoice]
    assert office.mika("GET", "/invoices?q=yam").status == 403
    assert office.accountant.everything("/invoices?q=yam") == [invoice]
    assert office.accountant.everything("/invoices?owner=mika") == [invoice]
    assert office.sato("GET", "/invoices?owner=mika").status == 403
    assert office.mika("DELETE", there).status == 403
    assert office.accountant("DELETE", there).status == 204


def test_a_void_invoice_expires_after_30_days_and_frees_its_number(office: Office) -> None:
    void = office.create(office.mika, "R-1", "open", "void")
    kept = office.create(office.mika, "R-2", "open", "paid")
    office.deployment.clock.advance(dt.timedelta(days=29).total_seconds())
    assert office.mika("GET", f"/invoices/{void['id']}").status == 200
    assert office.mika("POST", "/invoices", INVOICE).status == 409
    office.deployment.clock.advance(dt.timedelta(days=2).total_seconds())
    assert office.mika("GET", f"/invoices/{void['id']}").status == 404
    assert office.mika.good("GET", f"/invoices/{kept['id']}") == kept
    again = office.create(office.sato, "R-1")
    assert office.sato.everything("/invoices?number=r-1") == [again]
