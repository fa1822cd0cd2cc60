"""Chinook's customers and invoices over HTTP as users and orders, against plain Python."""

from __future__ import annotations

import random
from collections import defaultdict
from decimal import Decimal

import pytest

from daicho.search.normalise import fold, split_words
from tests.demonstration.support.chinook import Chinook, Row
from tests.support.api_client import Client, segment
from tests.support.deployment import Served
from tests.support.trials import IS_TRIAL

pytestmark = pytest.mark.skipif(not IS_TRIAL, reason="takes a minute: make trials")

SHIPPED, CANCELLED = 20, 10


@pytest.fixture(scope="module")
def chinook() -> Chinook:
    return Chinook.read()


@pytest.fixture(scope="module")
def orders(served: Served, acme: Client, globex: Client, chinook: Chinook) -> list[Row]:
    """All orders as they are in the end, in the order in which they came."""
    for user in chinook.users:
        body = {name: value for name, value in user.items() if name != "id"}
        assert acme("PUT", f"/users/{user['id']}", body).status == 201
    placed = []
    for row in random.Random(412).sample(chinook.orders, len(chinook.orders)):
        body = {name: row[name] for name in ("date", "customer", "status", "lines")}
        key = f"invoice {row['invoice']}"
        made = acme("POST", "/orders", body, idempotency_key=key)
        assert made.status == 201, made.text
        assert Decimal(made.json["total"]) == Decimal(row["total"])
        assert [{**line, "price": str(Decimal(line["price"]))} for line in row["lines"]] == (
            made.json["lines"]
        )
        placed.append(made.json)
    assert acme("POST", "/orders", body, idempotency_key=key).json == placed[-1]
    globex.good("POST", "/orders", body)
    served.catch_up()
    waiting = [row for row in placed if row["status"] == "open"]
    changed = random.Random(7).sample(waiting, SHIPPED + CANCELLED)
    for place, row in enumerate(changed):
        status = "shipped" if place < SHIPPED else "cancelled"
        there = f"/orders/{row['id']}?date={row['date']}"
        row.update(acme.good("PATCH", there, {"status": status}, if_match='"1"'))
    return placed


def newest_first(orders: list[Row]) -> list[Row]:
    return sorted(orders, key=lambda row: (row["date"], row["created_at"]), reverse=True)


@pytest.mark.parametrize("limit", [2, 100])
def test_the_history_of_every_customer(
    acme: Client, chinook: Chinook, orders: list[Row], limit: int
) -> None:
    for user in chinook.users:
        own = [row for row in orders if row["customer"] == user["id"]]
        assert len(own) > 5
        found = acme.everything(f"/users/{user['id']}/orders", limit)
        assert found == newest_first(own)


def test_what_every_customer_waits_for(
    served: Served, acme: Client, chinook: Chinook, orders: list[Row]
) -> None:
    waiting = [row for row in orders if row["status"] == "open"]
    assert len(waiting) > SHIPPED
    for _ in range(2):  # before the stream has brought what was shipped, and after
        found: list[Row] = []
        for user in chinook.users:
            own = [row for row in waiting if row["customer"] == user["id"]]
            mine = acme.everything(f"/customers/{user['id']}/orders?open=true", limit=3)
            assert mine == newest_first(own)
            found += mine
        assert len(found) == len(waiting)
        served.catch_up()


def test_the_orders_of_every_date(acme: Client, orders: list[Row]) -> None:
    by_date: defaultdict[str, list[Row]] = defaultdict(list)
    for row in orders:
        by_date[row["date"]].append(row)
    for date, rows in by_date.items():
        expected = sorted(rows, key=lambda row: str(row["id"]))
        assert acme.everything(f"/orders?date={date}", limit=1) == expected
    assert acme.everything("/orders?date=2020-12-31") == []


def test_every_order_by_its_id_and_date(acme: Client, orders: list[Row]) -> None:
    for row in orders:
        assert acme.good("GET", f"/orders/{row['id']}?date={row['date']}") == row


def test_every_customer_by_the_beginning_of_a_name(
    acme: Client, chinook: Chinook, orders: list[Row]
) -> None:
    words = {user["id"]: split_words(fold(user["name"])).split() for user in chinook.users}
    for user in chinook.users:
        for word in words[user["id"]]:
            start = word[:4]
            wanted = {
                id
                for id, own in words.items()
                if any("".join(own[at:]).startswith(start) for at in range(len(own)))
            }
            found = {each["id"] for each in acme.everything(f"/users?name={segment(start)}")}
            assert found == wanted, start
