"""Users and their orders (seeds 000, 002) over HTTP: a third of Chinook's customers.

All of them: `tests/demonstration/integration/commands/test_chinook_orders.py`.
"""

from __future__ import annotations

import random
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import partial
from typing import Any

from tests.demonstration.e2e.delivery import delivered
from tests.demonstration.support.chinook import Chinook, Row
from tests.e2e.api import client, eventually, everything

SHIPPED = 5
ASKED = 12


def test_customers_and_invoices_of_chinook(stack: dict[str, Any]) -> None:
    chinook = Chinook.read()
    some = [row for row in chinook.users if int(row["id"]) % 3 == 0]
    users = {row["id"]: f"chinook-{row['id']}" for row in some}
    mine = [row for row in chinook.orders if row["customer"] in users]
    rows = sorted(mine, key=lambda row: str(row["date"]))
    with client(stack, "acme") as api, ThreadPoolExecutor(8) as pool:

        def put(user: Row) -> int:
            body = {name: value for name, value in user.items() if name != "id"}
            return api.put(f"/users/{users[user['id']]}", json=body).status_code

        def place(row: Row) -> Row:
            body = {name: row[name] for name in ("date", "status", "lines")}
            key = {"idempotency-key": f"chinook invoice {row['invoice']}"}
            answer = api.post(
                "/orders", json=body | {"customer": users[row["customer"]]}, headers=key
            )
            assert answer.status_code == 201, answer.text
            assert Decimal(answer.json()["total"]) == Decimal(row["total"])
            return dict(answer.json())

        assert set(pool.map(put, some)) <= {200, 201}
        orders = list(pool.map(place, rows))
        assert place(rows[-1]) == orders[-1]  # nothing twice

        def newest(user: str, *, waiting: bool = False) -> list[Row]:
            own = [o for o in orders if o["customer"] == user]
            own = [o for o in own if o["status"] == "open" or not waiting]
            return sorted(own, key=lambda o: (o["date"], o["created_at"]), reverse=True)

        delivered(api)
        last = orders[-1]["customer"]
        assert everything(api, f"/users/{last}/orders") == newest(last)
        open_ones = [order for order in orders if order["status"] == "open"]
        for order in random.Random(5).sample(open_ones, SHIPPED):
            there = f"/orders/{order['id']}?date={order['date']}"
            answer = api.patch(there, json={"status": "shipped"}, headers={"if-match": '"1"'})
            order.update(answer.raise_for_status().json())
            assert api.get(there).json() == order
        # Open ones first: what was shipped is gone from a page before it is from the index.
        for user in random.Random(6).sample(sorted(users.values()), ASKED):
            waiting = everything(api, f"/customers/{user}/orders", open="true", limit=2)
            assert waiting == newest(user, waiting=True)
            assert everything(api, f"/users/{user}/orders", limit=5) == newest(user)
            # From the index alone, so as old as that is.
            shown = [{n: order[n] for n in ("id", "status", "total")} for order in newest(user)]
            history = partial(everything, api, f"/users/{user}/orders", fields="id,status,total")
            assert eventually(history, lambda found, shown=shown: found == shown) == shown  # type: ignore[misc]
        by_date: defaultdict[str, set[str]] = defaultdict(set)
        for order in orders:
            by_date[order["date"]].add(order["id"])
        for date in random.Random(7).sample(sorted(by_date), ASKED):
            dated = [order["id"] for order in everything(api, "/orders", date=date)]
            assert dated == sorted(dated)
            assert by_date[date] <= set(dated)


def test_a_user_by_name_and_in_part(stack: dict[str, Any]) -> None:
    with client(stack, "globex") as api, client(stack, "acme") as other:
        api.put("/users/hikouki-2", json={"name": "hikouki", "age": 100}).raise_for_status()
        delivered(api)
        assert "hikouki-2" in {user["id"] for user in everything(api, "/users", name="hik")}
        whole, part = api.get("/users/hikouki-2"), api.get("/users/hikouki-2?fields=age")
        assert part.json() == {"age": 100}
        assert part.headers["etag"] == whole.headers["etag"]
        assert api.get("/users/hikouki-2?fields=nmae").status_code == 422
        assert other.get("/users/hikouki-2").status_code == 404
        api.delete("/users/hikouki-2").raise_for_status()
