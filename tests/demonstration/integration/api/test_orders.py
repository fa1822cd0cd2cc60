"""Orders of a date over shards, and a customer's open ones, over the real handlers."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from daicho.storage.keys import parse
from tests.support.api_client import Client
from tests.support.deployment import Served


def placed(client: Client, day: str, customer: str = "ann", **more: str) -> dict[str, Any]:
    made: dict[str, Any] = client.good(
        "POST", "/orders", {"date": day, "customer": customer} | more
    )
    return made


def test_the_orders_of_a_day_come_in_order_page_by_page(served: Served, acme: Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: placed(acme, "2026-11-20", f"c{n}"), range(57)))
    placed(acme, "2026-11-19")
    expected = sorted(order["id"] for order in made)
    for limit in (1, 7, 100):
        found = acme.everything("/orders?date=2026-11-20", limit)
        assert [order["id"] for order in found] == expected
    scanned = served.dynamodb.scan(TableName=served.table.name)["Items"]
    partitions = Counter(
        parse(str(item["PK"]["S"]))[-1]
        for item in scanned
        if item["PK"]["S"].startswith("acme#Order#2026-11-20#")
    )
    assert len(partitions) > 6
    assert partitions.total() == 57
    assert set(partitions) <= {str(shard) for shard in range(10)}


def test_what_comes_between_pages_is_shown_where_it_belongs(acme: Client) -> None:
    day = "/orders?date=2026-11-18"
    first = sorted(placed(acme, "2026-11-18")["id"] for _ in range(6))
    page = acme.good("GET", f"{day}&limit=4")
    later = placed(acme, "2026-11-18")["id"]
    rest = acme.good("GET", f"{day}&limit=4&cursor={page['cursor']}")
    found = [order["id"] for order in page["items"] + rest["items"]]
    assert found == sorted([*first, later])
    assert rest["cursor"] is None


def test_an_order_is_found_by_its_day_and_id(acme: Client) -> None:
    answer = acme("POST", "/orders", {"date": "2026-11-17", "customer": "ann"})
    assert answer.status == 201
    there = answer.headers["Location"]
    assert there == f"/orders/{answer.json['id']}?date=2026-11-17"
    assert acme.good("GET", there) == answer.json
    missing = acme("GET", f"/orders/{answer.json['id']}")
    assert (missing.status, "date" in missing.text) == (400, True)
    assert acme("GET", f"/orders/{answer.json['id']}?date=2026-11-16").status == 404
    wrong = acme("GET", f"/orders/{answer.json['id']}?date=17-11-2026")
    assert (wrong.status, wrong.fields) == (422, {"date"})
    again = acme(
        "POST", "/orders", {"date": "2026-11-17", "customer": "ann"}, idempotency_key="order-1"
    )
    repeat = acme(
        "POST", "/orders", {"date": "2026-11-17", "customer": "ann"}, idempotency_key="order-1"
    )
    assert (again.status, again.json) == (repeat.status, repeat.json)


def test_an_order_is_open_until_it_is_shipped(served: Served, acme: Client) -> None:
    orders = [placed(acme, "2026-11-15", "zoe#1") for _ in range(3)]
    served.catch_up()
    url = "/customers/zoe%231/orders"
    newest = [order["id"] for order in reversed(orders)]
    assert [order["id"] for order in acme.everything(f"{url}?open=true")] == newest
    shipped = orders[1]["id"]
    acme.good("PATCH", f"/orders/{shipped}?date=2026-11-15", {"status": "shipped"})
    # The list lags; what it names is checked before it is shown.
    left = [id for id in newest if id != shipped]
    assert [order["id"] for order in acme.everything(f"{url}?open=true")] == left
    served.catch_up()
    assert [order["id"] for order in acme.everything(f"{url}?open=true")] == left
    assert [order["id"] for order in acme.everything(url)] == newest


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"customer": "ann"}, "date"),
        ({"date": "2026-11-31", "customer": "ann"}, "date"),
        ({"date": "2026-11-20T00:00:00Z", "customer": "ann"}, "date"),
        ({"date": "2026-11-20"}, "customer"),
        ({"date": "2026-11-20", "customer": ""}, "customer"),
        ({"date": "2026-11-20", "customer": "c" * 201}, "customer"),
        ({"date": "2026-11-20", "customer": "ann", "status": "lost"}, "status"),
        ({"date": "2026-11-20", "customer": "ann", "shard": 3}, "shard"),
        ({"date": "0", "customer": "ann"}, "date"),
        ({"date": "2026-11-20", "customer": "ann", "total": "1.00"}, "total"),
        ({"date": "2026-11-20", "customer": "ann", "lines": [{}]}, "lines[0].sku"),
        ({"date": "2026-11-20", "customer": "ann", "lines": [{"sku": ""}]}, "lines[0].sku"),
        ({"date": "2026-11-20", "customer": "ann", "lines": [{"sku": "a"}] * 101}, "lines"),
        *(
            ({"date": "2026-11-20", "customer": "ann", "lines": [{"sku": "a", name: wrong}]}, at)
            for name, wrong, at in [
                ("quantity", 0, "lines[0].quantity"),
                ("quantity", "2", "lines[0].quantity"),
                ("quantity", 1.5, "lines[0].quantity"),
                ("price", -1, "lines[0].price"),
                ("price", "1.001", "lines[0].price"),
                ("price", "1e400", "lines[0].price"),
                ("price", "12345678901.00", "lines[0].price"),
                ("prize", 1, "lines[0].prize"),
            ]
        ),
    ],
)
def test_orders_that_are_refused(acme: Client, wrong: object, field: str) -> None:
    answer = acme("POST", "/orders", wrong)
    assert (answer.status, answer.fields) == (422, {field})


def test_the_day_of_an_order_cannot_be_changed(acme: Client) -> None:
    made = placed(acme, "2026-11-14")
    answer = acme("PATCH", f"/orders/{made['id']}?date=2026-11-14", {"date": "2026-11-15"})
    assert answer.status == 422


def test_an_order_is_worth_what_its_lines_are(acme: Client) -> None:
    lines = [
        {"sku": "a#1", "quantity": 3, "price": "0.99"},
        {"sku": "b", "price": 10.1},
        {"sku": "c", "quantity": 1_000_000, "price": "9999999999.99"},
    ]
    made = acme.good("POST", "/orders", {"date": "2026-11-13", "customer": "ann", "lines": lines})
    assert made["total"] == "9999999999990013.07"
    there = f"/orders/{made['id']}?date=2026-11-13"
    assert acme.good("GET", there) == made
    assert made["lines"] == [
        {"sku": "a#1", "quantity": 3, "price": "0.99"},
        {"sku": "b", "quantity": 1, "price": "10.10"},
        {"sku": "c", "quantity": 1_000_000, "price": "9999999999.99"},
    ]
    for name, value in (("lines", []), ("total", "1.00")):
        answer = acme("PATCH", there, {name: value})
        assert (answer.status, answer.fields) == (422, {name})
    assert acme.good("PATCH", there, {"status": "cancelled"})["total"] == made["total"]
    assert acme.good("GET", f"{there}&fields=total,status") == {
        "total": made["total"],
        "status": "cancelled",
    }


def test_a_repeat_of_another_order_is_refused(acme: Client) -> None:
    body = {"date": "2026-11-12", "customer": "ann", "lines": [{"sku": "a", "price": "1.00"}]}
    made, again = (acme("POST", "/orders", body, idempotency_key="order-2") for _ in range(2))
    assert (made.status, made.json) == (again.status, again.json)
    other = acme("POST", "/orders", body | {"lines": []}, idempotency_key="order-2")
    assert (other.status, other.fields) == (422, {"Idempotency-Key"})
    assert len(acme.everything("/orders?date=2026-11-12")) == 1


def test_the_history_of_a_customer_is_by_date(served: Served, acme: Client, globex: Client) -> None:
    days = ["2026-03-05", "2026-03-07", "2026-03-05", "2025-01-01", "2026-03-06"]
    made = [placed(acme, day, "mia") for day in days]
    placed(acme, "2026-03-05", "mia#")
    placed(globex, "2026-03-05", "mia")
    served.catch_up()
    newest = sorted(made, key=lambda each: (each["date"], each["created_at"]), reverse=True)
    for url in ("/users/mia/orders", "/customers/mia/orders", "/customers/mia/orders?open=true"):
        assert acme.everything(url, limit=2) == newest


def test_two_who_ship_an_order(acme: Client) -> None:
    made = placed(acme, "2026-11-11")
    there = f"/orders/{made['id']}?date=2026-11-11"
    assert acme("PATCH", there, {"status": "shipped"}, if_match='"1"').status == 200
    assert acme("PATCH", there, {"status": "cancelled"}, if_match='"1"').status == 412
    assert acme.good("GET", there)["status"] == "shipped"
