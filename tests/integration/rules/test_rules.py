"""Computed fields, checks and transitions, on every way of writing an item over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.book.book import Book
from daicho.storage.attributes import ItemKey
from tests.support.api_client import Answer, Client
from tests.support.deployment import Served
from tests.support.ruled_domains.invoices import Draft, Invoice

DATES: dict[str, Any] = {"issued": "2026-11-01", "due": "2026-11-30"}


@pytest.fixture(scope="module")
def customer(acme: Client) -> str:
    return str(acme.good("POST", "/customers", {"limit": "500"})["id"])


@pytest.fixture
def invoice(acme: Client, customer: str) -> Any:
    return acme.good("POST", "/invoices", {"customer": customer, **DATES, "status": "open"})


def refused(answer: Answer, status: int, *words: str) -> set[str]:
    """The fields that a problem of this status names; its text has these words."""
    assert answer.status == status, answer.text
    assert all(word in answer.json["detail"] for word in words), answer.text
    return answer.fields


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_a_computed_field_is_given_by_no_caller(
    acme: Client, customer: str, invoice: Any, method: str
) -> None:
    path = "/invoices" if method == "POST" else f"/invoices/{invoice['id']}"
    body = {"total": "1"} if method == "PATCH" else {"customer": customer, **DATES, "total": "1"}
    assert refused(acme(method, path, body), 422) == {"total"}


def test_a_computed_field_follows_every_change(acme: Client, invoice: Any) -> None:
    there = f"/invoices/{invoice['id']}"
    assert (invoice["total"], invoice["gross"]) == ("0.00", "0.0000")
    changed = acme.good("PATCH", there, {"lines": [{"price": "20.00"}]})
    assert (changed["total"], changed["gross"]) == ("20.00", "22.0000")
    assert acme.good("PATCH", there, {"rate": "0.2"})["gross"] == "24.000"
    assert acme.good("PATCH", there, {"due": "2027-01-01"})["total"] == "20.00"
    assert refused(acme("PATCH", there, {"lines": [{"price": "1"}] * 4}), 422, "at most 3") == {
        "total"
    }


def test_a_check_sees_the_whole_item(acme: Client, customer: str, invoice: Any) -> None:
    there = f"/invoices/{invoice['id']}"
    late = {"due": "2026-10-31"}
    both = {"issued", "due"}
    assert refused(acme("PATCH", there, late), 422, "due on the day it is issued") == both
    assert refused(acme("PATCH", there, {"issued": "2026-12-01"}), 422) == both
    body = {"customer": customer, **DATES, **late}
    assert refused(acme("POST", "/invoices", body), 422) == both
    assert refused(acme("PUT", there, {**body, "status": "open"}), 422) == both
    assert acme.good("PATCH", there, {**late, "issued": "2026-10-30"})["due"] == "2026-10-31"
    over = {"lines": [{"price": "500.01"}]}
    assert refused(acme("PATCH", there, over), 422, "500.01") == {"total", "limit"}
    assert acme.good("GET", there)["total"] == "0.00"


def test_a_put_over_an_item_from_before_its_state(acme: Client, served: Served) -> None:
    acme.good("PUT", "/parcels/old", {})
    key = ItemKey("acme#Parcel#old", "-")
    served.table.update(key, "REMOVE #state", names={"#state": "state"})
    assert acme.good("GET", "/parcels/old")["state"] == "packed", "the default"
    assert acme.good("PUT", "/parcels/old", {"state": "sent"})["version"] == 2


def test_the_state_of_a_new_item(acme: Client, customer: str) -> None:
    body = {"customer": customer, **DATES, "status": "paid"}
    assert refused(acme("POST", "/invoices", body), 409, "a new Invoice", "'draft' or 'open'") == {
        "status"
    }
    assert refused(acme("PUT", "/invoices/new", body), 409, "a new Invoice") == {"status"}
    assert acme("GET", "/invoices/new").status == 404
    acme.good("PUT", "/invoices/new", {**body, "status": "draft"})
    assert acme("DELETE", "/invoices/new").status == 204
    assert refused(acme("PUT", "/invoices/new", body), 409) == {"status"}


def test_a_state_in_the_key(acme: Client) -> None:
    acme.good("PUT", "/tickets/q/new/7", {})
    assert refused(acme("PUT", "/tickets/q/done/8", {}), 409, "a new Ticket") == {"state"}
    moved = acme.good("PATCH", "/tickets/q/new/7", {"state": "done"})
    assert moved["state"] == "done"
    assert refused(acme("PATCH", "/tickets/q/done/7", {"state": "new"}), 409, "final") == {"state"}


def test_transactions_see_their_own_states(served: Served, customer: str) -> None:
    book = Book(served.table, served.ledger, "acme")
    with book.transaction():
        book.put(Invoice(id="tx", customer=customer, **DATES))
        book.change(Invoice.key("tx"), {"status": "open"})
        book.change(Invoice.key("tx"), {"status": "paid"})
    with pytest.raises(Exception, match="final"), book.transaction():
        book.change(Invoice.key("tx"), {"status": "paid"})
        book.put(Invoice(id="tx", customer=customer, status="void", **DATES))
    assert book.get(Invoice.key("tx")).status == "paid"
    with book.transaction():
        book.delete(Invoice.key("tx"))
        book.create(Invoice(id="tx", customer=customer, **DATES))
    assert book.get(Invoice.key("tx")).status == "draft"


def test_restored_versions(served: Served) -> None:
    book = Book(served.table, served.ledger, "acme")
    book.put(Draft(id="v", text="one"))
    book.change(Draft.key("v"), {"text": "one two", "state": "sent"})
    assert book.get(Draft.key("v")).words == 2
    with pytest.raises(Exception, match="'sent' cannot become 'written'"):
        book.restore(Draft.versions.at("v", version=1))
    book.delete(Draft.key("v"))
    assert book.restore(Draft.versions.at("v", version=2)).state == "sent", (
        "the deletion is taken back"
    )
    book.delete(Draft.key("v"))
    with pytest.raises(Exception, match="a new Draft cannot be 'sent'"):
        book.restore(Draft.versions.at("v", version=2))
    assert book.restore(Draft.versions.at("v", version=1)).words == 1
