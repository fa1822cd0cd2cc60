"""Decimals keep their scale on every way through the service."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from daicho.book.book import Book
from daicho.errors import Invalid
from tests.support.api_client import Client
from tests.support.deployment import Served
from tests.support.ruled_domains.invoices import Folder, Line

DATES = {"issued": "2026-11-01", "due": "2026-11-30"}


@pytest.fixture(scope="module")
def customer(acme: Client) -> str:
    return str(acme.good("POST", "/customers", {"limit": "500.00"})["id"])


def make_invoice(acme: Client, customer: str, **more: Any) -> Any:
    return acme.good("POST", "/invoices", {"customer": customer, **DATES, **more})


def test_a_decimal_is_shown_as_it_was_written(acme: Client, customer: str) -> None:
    lines = [
        {"price": "7.1", "quantity": 1, "weight": "0.300"},
        {"price": "2.90", "quantity": 2, "weight": "10"},
    ]
    made = make_invoice(acme, customer, rate="0.100", lines=lines)
    shown = acme.good("GET", f"/invoices/{made['id']}")
    assert made == shown
    assert shown["rate"] == "0.100"
    assert shown["limit"] == "500.00", "a copy has the scale of its source"
    assert [line["price"] for line in shown["lines"]] == ["7.10", "2.90"]
    assert [line["weight"] for line in shown["lines"]] == ["0.300", "10"]
    assert (shown["total"], shown["gross"]) == ("12.90", "14.19000")
    there = f"/invoices/{made['id']}"
    changed = acme.good("PATCH", there, {"rate": "0.0"})
    assert (changed["rate"], changed["gross"], changed["limit"]) == ("0.0", "12.900", "500.00")
    assert acme.good("GET", there) == changed
    replaced = {"customer": customer, **DATES, "rate": "0.5", "lines": lines[:1]}
    put = acme.good("PUT", there, replaced)
    assert (put["rate"], put["total"], put["gross"]) == ("0.5", "7.10", "10.650")
    assert acme.good("GET", there) == put
    assert acme.good("GET", f"{there}?fields=rate,lines") == {
        "rate": put["rate"],
        "lines": put["lines"],
    }


def test_lists_copies_and_figures(
    acme: Client, customer: str, served: Served, fetched: list[Any]
) -> None:
    own = str(acme.good("POST", "/customers", {"limit": "99.000"})["id"])
    made = [
        make_invoice(acme, own, status="open", lines=[{"price": price}])
        for price in ("7.10", "2.90")
    ]
    served.catch_up()
    listed = [each for each in acme.everything("/invoices?status=open") if each["customer"] == own]
    assert listed == made[::-1]
    fetched.clear()
    copies = acme.everything("/invoices?status=open&fields=total,gross")
    assert copies[:2] == [
        {"total": "2.90", "gross": "3.1900"},
        {"total": "7.10", "gross": "7.8100"},
    ]
    assert fetched == [], "the rows have the scales too"
    for live in ("", "?live=true"):
        assert acme.good("GET", f"/revenue/{own}{live}")["total"] == "10.00"


def test_sections_are_of_their_declared_type(acme: Client, served: Served) -> None:
    lines = {"a": {"price": "7.1", "quantity": 2, "weight": "0.50"}}
    acme.good("PUT", "/folders/f", {"lines": lines})
    shown = {"price": "7.10", "quantity": 2, "weight": "0.50"}
    assert acme.good("GET", "/folders/f")["lines"] == {"a": shown}
    assert acme("PUT", "/folders/f/b", {"price": "3.0"}).status == 201
    assert acme.good("GET", "/folders/f/b") == {"price": "3.00", "quantity": 1, "weight": None}
    assert acme.good("GET", "/folders/f/a") == shown
    assert acme("PUT", "/folders/f/c", {"price": "x"}).status == 422
    book = Book(served.table, served.ledger, "acme")
    line = Line(price=Decimal("7.10"), quantity=2, weight=Decimal("0.50"))
    assert book.get(Folder.key("f")).lines["a"] == line
    assert book.section(Folder.split("f", section="a")).value == line
    with pytest.raises(Invalid):
        book.put_section(Folder.split("f", section="c"), {"price": "x"})
