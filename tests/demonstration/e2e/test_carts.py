"""Carts on the deployed stack (seed 003): states, moves, checkout, and requests sent twice."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

from daicho.declare.fields import new_id
from tests.demonstration.e2e.delivery import delivered
from tests.e2e.api import client, everything

ACTIVE = ("tea", "a#b", "茶 $23", "active#x", *(n * 190 for n in "123"))
"""Enough for an order that is kept compressed."""


def test_a_cart_becomes_one_order(stack: dict[str, Any]) -> None:
    user = new_id()
    with client(stack, "acme") as api, client(stack, "globex") as other:

        def item(sku: str, state: str = "active") -> str:
            return f"/carts/{user}/items/{quote(sku, safe='')}?state={state}"

        def skus(state: str) -> list[str]:
            return [each["sku"] for each in everything(api, f"/carts/{user}", state=state)]

        for sku in ACTIVE:
            put = api.put(item(sku), json={"quantity": 2, "price": "1.25"})
            assert (put.status_code, put.headers["etag"]) == (201, '"1"')
        for state in ("saved", "wish"):
            assert api.put(item("cup", state), json={"quantity": 3}).status_code == 201
        # A repeat moves nothing again, though it could: what it moved is back where it was.
        key = {"idempotency-key": f"move {user} #1"}
        for _ in range(2):
            moved = api.patch(item("cup", "saved"), json={"state": "active"}, headers=key)
            assert (moved.status_code, moved.json()["version"]) == (200, 2)
            back = api.patch(item("cup"), json={"state": "saved"}).status_code
        assert back == 404
        assert skus("saved") == ["cup"]
        taken = api.patch(item("cup", "saved"), json={"state": "wish", "quantity": 1})
        assert (taken.status_code, taken.json()["quantity"]) == (200, 4)
        assert (sorted(skus("active")), skus("saved"), skus("wish")) == (
            sorted(ACTIVE),
            [],
            ["cup"],
        )
        assert len(everything(api, f"/carts/{user}")) == len(ACTIVE) + 1
        assert everything(other, f"/carts/{user}") == []
        assert api.put(item("tea"), json={"quantity": 0}).status_code == 422

        def check_out(number: int) -> tuple[int, str]:
            sent = {"idempotency-key": f"order {user} {number % 2}"}
            answer = api.post(f"/carts/{user}/checkout", headers=sent)
            return answer.status_code, answer.text

        with ThreadPoolExecutor(4) as pool:
            answers = Counter(pool.map(check_out, range(8)))
        assert {status for status, _ in answers} <= {201, 409}
        (ordered,) = {text for status, text in answers if status == 201}
        assert skus("active") == []
        delivered(api)
        orders = everything(api, f"/users/{user}/orders")
        assert len(orders) == 1
        assert {line["sku"] for line in orders[0]["lines"]} == set(ACTIVE)
        assert orders[0]["total"] == "17.50"
        assert orders[0]["id"] in ordered
        assert api.post(f"/carts/{user}/checkout").status_code == 409


def test_too_many_things_for_one_order(stack: dict[str, Any]) -> None:
    user = new_id()
    with client(stack, "acme") as api:

        def put(number: int) -> int:
            return api.put(f"/carts/{user}/items/{number:03d}", json={}).status_code

        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(put, range(100))) == {201}
        answer = api.post(f"/carts/{user}/checkout")
        assert (answer.status_code, "at most 99" in answer.json()["detail"]) == (422, True)
        assert api.patch(f"/carts/{user}/items/099", json={"state": "saved"}).status_code == 200
        recorded = api.post(f"/carts/{user}/checkout", headers={"idempotency-key": f"all {user}"})
        assert (recorded.status_code, "Idempotency-Key" in recorded.json()["detail"]) == (422, True)
        order = api.post(f"/carts/{user}/checkout")
        assert (order.status_code, len(order.json()["lines"])) == (201, 99)
        assert len(everything(api, f"/carts/{user}")) == 1
