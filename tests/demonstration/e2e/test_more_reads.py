"""The lists of polls, of reports and of orders without a date over HTTP (seeds 002, 003)."""

from __future__ import annotations

from typing import Any

from tests.demonstration.e2e.delivery import delivered
from tests.e2e.api import client, everything


def test_polls_are_listed_until_they_are_deleted(stack: dict[str, Any]) -> None:
    with client(stack, "globex") as api:
        made = [
            api.post("/polls", json={"candidates": ["Aja", name]}).raise_for_status().json()["id"]
            for name in ("Low", "Heroes", "Lodger")
        ]
        api.patch(f"/polls/{made[1]}", json={"state": "closed"}).raise_for_status()
        api.delete(f"/polls/{made[0]}").raise_for_status()
        delivered(api)
        listed = [poll["id"] for poll in everything(api, "/polls")]
        assert [id for id in listed if id in made] == [made[2], made[1]]
    with client(stack, "acme") as other:
        assert not {poll["id"] for poll in everything(other, "/polls")} & set(made)


def test_an_order_is_found_by_its_id_and_by_its_status(stack: dict[str, Any]) -> None:
    with client(stack, "globex") as api:
        dates = ("2031-01-31", "2031-02-01", "2031-02-28", "2031-03-01")
        body = {"customer": "mika", "lines": [{"sku": "cd", "price": "9.90"}]}
        orders = [
            api.post("/orders", json=body | {"date": date}).raise_for_status().json()
            for date in dates
        ]
        last = orders[-1]
        there = f"/orders/{last['id']}?date={last['date']}"
        last = api.patch(there, json={"status": "shipped"}).raise_for_status().json()
        delivered(api)
        assert everything(api, "/orders", id=last["id"]) == [last]
        assert everything(api, "/orders", id="nothing") == []
        newest = [order["id"] for order in everything(api, "/orders")]
        ids = [order["id"] for order in orders]
        assert [id for id in newest if id in ids] == ids[::-1]
        for status, expected in (("open", ids[2::-1]), ("shipped", ids[3:])):
            found = [order["id"] for order in everything(api, "/orders", status=status)]
            assert [id for id in found if id in ids] == expected
        for options, expected in (
            ({"from": "2031-02-01", "to": "2031-02-28"}, ids[2:0:-1]),
            ({"from": "2031-02-01", "to": "2031-02-28", "order": "asc"}, ids[1:3]),
            ({"status": "open,shipped", "from": "2031-02-28", "limit": 1}, ids[:1:-1]),
        ):
            found = [order["id"] for order in everything(api, "/orders", **options)]
            assert [id for id in found if id in ids] == expected
        reversed_range = api.get("/orders", params={"from": "2031-03-01", "to": "2031-02-01"})
        assert reversed_range.status_code == 422


def test_reports_of_a_device_are_read_newest_first(stack: dict[str, Any]) -> None:
    with client(stack, "globex") as api:
        days = ("2031-05-01", "2031-05-02", "2031-05-03")
        for day in days:
            body = {"at": f"{day}T12:00:00Z"}
            api.post("/devices/dated/reports", json=body).raise_for_status()

        def list_days(**options: Any) -> list[str]:
            reports = everything(api, "/devices/dated/reports", limit=1, **options)
            return [report["at"][:10] for report in reports]

        assert list_days() == list(days)
        assert list_days(order="desc") == list(days[::-1])
        assert list_days(**{"order": "desc", "to": "2031-05-02"}) == list(days[1::-1])
