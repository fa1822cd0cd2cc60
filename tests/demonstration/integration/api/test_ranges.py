"""A part of a list, in either direction, over the real handlers."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from tests.support.api_client import Client, segment
from tests.support.deployment import Served

FIRST = dt.date(2026, 1, 1)
STATES = ("open", "shipped", "cancelled")


@pytest.fixture(scope="module")
def orders(served: Served, acme: Client) -> list[dict[str, Any]]:
    """An order a day of one customer, oldest first."""
    placed = [
        acme.good(
            "POST",
            "/orders",
            {
                "date": (FIRST + dt.timedelta(days=number)).isoformat(),
                "customer": "ranges",
                "status": STATES[number % 3],
            },
        )
        for number in range(40)
    ]
    served.catch_up()
    return placed


def list_ids(items: list[dict[str, Any]]) -> list[str]:
    return [item["id"] for item in items]


def test_the_orders_of_a_customer_in_a_range_of_dates(
    acme: Client, orders: list[dict[str, Any]]
) -> None:
    path = "/customers/ranges/orders"
    for low, high in (("2026-01-05", "2026-01-20"), ("2026-02-01", ""), ("", "2026-01-01")):
        query = "&".join(f"{name}={day}" for name, day in (("from", low), ("to", high)) if day)
        expected = list_ids([order for order in orders if low <= order["date"] <= (high or "9999")])
        for limit in (3, 100):
            rising = acme.everything(f"{path}?{query}&order=asc", limit)
            assert list_ids(rising) == expected
            falling = acme.everything(f"{path}?{query}", limit)
            assert list_ids(falling) == expected[::-1]
    still_open = acme.everything(f"{path}?open=true&from=2026-01-10&to=2026-01-16&order=asc", 2)
    assert [order["date"] for order in still_open] == ["2026-01-10", "2026-01-13", "2026-01-16"]
    assert acme.everything(f"{path}?from=2027-01-01") == []
    assert list_ids(acme.everything(f"{path}?fields=id&to=2026-01-02")) == list_ids(orders[1::-1])


def test_orders_of_several_states_are_merged_in_order(
    acme: Client, orders: list[dict[str, Any]]
) -> None:
    wanted = {"open", "cancelled"}
    expected = list_ids(
        [order for order in orders if order["status"] in wanted and order["date"] < "2026-02-01"]
    )
    query = "/orders?from=2026-01-01&to=2026-01-31&order=asc&status="
    for states in ("open,cancelled", "cancelled,open,open"):
        found = [
            order
            for order in acme.everything(f"{query}{states}", 7)
            if order["customer"] == "ranges"
        ]
        assert list_ids(found) == expected
    page = acme.good("GET", f"{query}open,cancelled&limit=3")
    again = acme("GET", f"{query}cancelled,open&limit=3&cursor={page['cursor']}")
    assert again.status == 200
    for other in ("open", "open,shipped"):
        answer = acme("GET", f"{query}{other}&limit=3&cursor={page['cursor']}")
        assert (answer.status, answer.fields) == (400, {"cursor"})


def test_the_reports_of_a_device_newest_first(acme: Client) -> None:
    moments = [f"2026-11-{day:02d}T{hour:02d}:00:00Z" for day in (1, 2, 3) for hour in (0, 12)]
    made = [acme.good("POST", "/devices/turned/reports", {"at": moment}) for moment in moments]
    path = "/devices/turned/reports"
    for limit in (1, 4, 100):
        assert list_ids(acme.everything(f"{path}?order=desc", limit)) == list_ids(made[::-1])
        second = acme.everything(f"{path}?from=2026-11-02&to=2026-11-02", limit)
        assert list_ids(second) == list_ids(made[2:4])
        noons = acme.everything(f"{path}?from={moments[1]}&to={moments[4]}&order=desc", limit)
        assert list_ids(noons) == list_ids(made[4:0:-1])
    tokyo = segment("2026-11-02T09:00:00+09:00")
    assert list_ids(acme.everything(f"{path}?to={tokyo}")) == list_ids(made[:3])


def test_places_that_begin_so(acme: Client) -> None:
    names = ("a", "ab", "abc", "a#b", "a b", "b", "$a")
    for name in names:
        acme.good("PUT", f"/places/prefixes/{segment(name)}/s/c", {})
    path = "/places?under=prefixes"
    for prefix in ("a", "ab", "a#", "$", "", "z"):
        found = acme.everything(f"{path}&prefix={segment(prefix)}", 2)
        expected = sorted(name for name in names if name.startswith(prefix))
        assert [place["region"] for place in found] == expected
    turned = acme.everything(f"{path}&from=a%20b&to=ab&order=desc", 1)
    assert [place["region"] for place in turned] == ["ab", "a#b", "a b"]


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("/customers/c/orders?order=newest", "order"),
        ("/customers/c/orders?from=2026-02-30", "from"),
        ("/customers/c/orders?to=2026-11-21T00:00:00Z", "to"),
        ("/customers/c/orders?from=2026-02-02&to=2026-02-01", "to"),
        ("/devices/d/reports?from=2026", "from"),
        ("/orders?status=open,lost", "status"),
        ("/places?under=a&prefix=" + "x" * 1_100, "prefix"),
    ],
)
def test_ranges_that_are_refused(acme: Client, url: str, name: str) -> None:
    answer = acme("GET", url)
    assert (answer.status, answer.fields) == (422, {name})
