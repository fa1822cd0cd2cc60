"""Several values of one parameter: which fields take them, and the lists that they select."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

import pytest

from daicho import Domain, Entity, Key, Listing, field, month, uid
from tests.support.sample_domain import FakeBook, serve


class Bill(Entity):
    id: str = uid()
    status: Literal["open", "late", "paid"] = field(default="open")
    rank: Literal["a,b", "c"] = field(default="c")
    year: int = field()
    sent: bool = field(default=False)
    day: dt.date = field()
    payer: str = field()

    key = Key(day, id)
    of_status = Listing(status)
    by_rank = Listing(rank)
    of_payer = Listing(payer)
    of_year = Listing(year, sent, shards=10)
    of_month = Listing(month(day), order=day)


bills = Domain("bills", Bill)
bills.resource("/bills/{id}", Bill, "GET LIST")
bills.mount("/months?month=", Bill.of_month)


@bills.route("GET", "/bills?year=")
def list_year(book: Any, year: int) -> int:
    """A query that takes one year."""
    return year


@pytest.mark.parametrize(
    ("url", "queries"),
    [
        ("/bills?status=open", [Bill.of_status("open")]),
        ("/bills?status=open,late", [Bill.of_status("late"), Bill.of_status("open")]),
        ("/bills?status=late,open,late", [Bill.of_status("late"), Bill.of_status("open")]),
        ("/bills?status=open,late&order=asc",
         [Bill.of_status("late").ascending(), Bill.of_status("open").ascending()]),
        ("/bills?rank=a,b", [Bill.by_rank("a,b")]),
        ("/bills?payer=Bowie,%20David", [Bill.of_payer("Bowie, David")]),
        ("/months?month=2026-11,2026-10", [Bill.of_month("2026-10"), Bill.of_month("2026-11")]),
        ("/bills?year=1977&sent=true,false",
         [Bill.of_year(1977, False), Bill.of_year(1977, True)]),
    ],
)  # fmt: skip
def test_lists_of_several_values_are_merged(url: str, queries: list[Any]) -> None:
    book = FakeBook()
    serve(bills, book=book).good("GET", url)
    assert book.asked == [*queries, 100, None]


@pytest.mark.parametrize(
    ("url", "name", "message"),
    [
        ("/bills?status=open,lost", "status", "'open', 'late' or 'paid'"),
        ("/bills?status=open,", "status", "'open', 'late' or 'paid'"),
        ("/bills?status=,", "status", "'open', 'late' or 'paid'"),
        ("/bills?year=1977,1978&sent=true", "year", "whole number"),
        ("/bills?day=2026-11-20,2026-11-21", "day", "a day"),
        (f"/months?month={','.join(f'{year}-01' for year in range(2000, 2021))}",
         "month", "at most 20 values"),
    ],
)  # fmt: skip
def test_values_that_are_refused(url: str, name: str, message: str) -> None:
    answer = serve(bills)("GET", url)
    assert (answer.status, answer.fields) == (422, {name}), answer.text
    assert message in answer.text


def test_the_shards_of_all_lists_are_limited() -> None:
    domain = Domain("bills", Bill)
    domain.mount("/bills?year=&sent=", Bill.of_year)
    book = FakeBook()
    client = serve(domain, book=book)
    client.good("GET", "/bills?year=1,2,3,4,5&sent=true,false")
    assert len(book.asked) == 12
    answer = client("GET", "/bills?year=1,2,3,4,5,6&sent=true,false")
    assert (answer.status, answer.fields) == (422, {"year"})
    assert "at most 10 values" in answer.text


def test_a_path_has_one_value() -> None:
    domain = Domain("bills", Bill)
    domain.mount("/of/{status}", Bill.of_status)
    answer = serve(domain)("GET", "/of/open,late")
    assert (answer.status, answer.fields) == (422, {"status"})
