"""Carts over the real handlers: states, moves, and orders made of them, by many at once."""

from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from daicho.handlers import api
from daicho.handlers.wiring.dependencies import Dependencies
from tests.support.api_client import Client, segment
from tests.support.deployment import Served
from tests.support.interrupted_table import InterruptedTable
from tests.support.stream_pump import environment

STATES = ("active", "saved", "wish")
THREADS = 8


def put(client: Client, user: str, sku: str, state: str = "active", quantity: int = 1) -> Any:
    url = f"/carts/{user}/items/{segment(sku)}?state={state}"
    return client.good("PUT", url, {"quantity": quantity})


def cart(client: Client, user: str, state: str | None = None) -> dict[tuple[str, str], int]:
    asked = f"?state={state}" if state else ""
    items = client.everything(f"/carts/{user}{asked}", limit=40)
    return {(each["state"], each["sku"]): each["quantity"] for each in items}


def orders(served: Served, client: Client, user: str) -> list[Any]:
    served.catch_up()
    return client.everything(f"/users/{user}/orders")


@pytest.mark.parametrize("keyed", [False, True])
def test_a_cart_that_changes_during_its_checkout(served: Served, acme: Client, keyed: bool) -> None:
    table = InterruptedTable(served.dynamodb, served.table.name)
    dependencies = Dependencies(table=lambda *_, **__: table)
    client = Client(api.build(environment(table.name), dependencies=dependencies), "acme")
    meddling = (
        lambda url: acme.good("PUT", f"{url}/items/tea", {"quantity": 7}),
        lambda url: acme.good("DELETE", f"{url}/items/tea"),
        lambda url: acme.good("PATCH", f"{url}/items/tea", {"state": "wish"}),
        lambda url: acme.good("PUT", f"{url}/items/new", {}),
    )
    for number, meddle in enumerate(meddling):
        user = f"eve{number}{keyed}"
        put(acme, user, "tea", quantity=2)
        put(acme, user, "milk")
        table.before = [partial(meddle, f"/carts/{user}")]
        key = {"idempotency_key": user} if keyed else {}
        answer = client("POST", f"/carts/{user}/checkout", **key)
        assert answer.status == 201
        bought = {line["sku"]: line["quantity"] for line in answer.json["lines"]}
        left = cart(acme, user)
        match number:
            case 0:
                assert (bought, left) == ({"milk": 1, "tea": 7}, {})
            case 1:
                assert (bought, left) == ({"milk": 1}, {})
            case 2:
                assert (bought, left) == ({"milk": 1}, {("wish", "tea"): 2})
            case _:
                assert (bought, left) == ({"milk": 1, "tea": 2}, {("active", "new"): 1})


def test_nothing_is_lost_or_doubled_between_many(served: Served) -> None:
    """Many put, move and check out one cart; each thing put is in the cart or in one order."""
    client, user = served.client("many"), "zoe"
    put_there: Counter[str] = Counter()
    statuses: Counter[tuple[str, int]] = Counter()

    def shop(thread: int) -> tuple[Counter[str], Counter[tuple[str, int]], list[Any]]:
        chance = random.Random(thread)
        given: Counter[str] = Counter()
        seen: Counter[tuple[str, int]] = Counter()
        made: list[Any] = []
        for turn in range(40):
            sku, state = f"sku{thread}-{turn % 5}", chance.choice(STATES)
            match chance.randrange(3):
                case 0:
                    # A new thing each time: a PUT says how many there are, not how many more.
                    sku = f"sku{thread}-new{turn}"
                    url = f"/carts/{user}/items/{sku}?state={state}"
                    answer = client("PUT", url, {"quantity": 1}, if_none_match="*")
                    if answer.status == 201:
                        given[sku] += 1
                case 1:
                    url = f"/carts/{user}"
                    items = client.everything(url)
                    if not items:
                        continue
                    item = chance.choice(items)
                    url = f"{url}/items/{item['sku']}?state={item['state']}"
                    answer = client("PATCH", url, {"state": chance.choice(STATES)})
                case _:
                    answer = client(
                        "POST", f"/carts/{user}/checkout", idempotency_key=f"{thread} {turn}"
                    )
                    if answer.status == 201:
                        made.append(answer.json)
                        again = client(
                            "POST", f"/carts/{user}/checkout", idempotency_key=f"{thread} {turn}"
                        )
                        assert again.json == answer.json
            seen[answer.request.split()[0], answer.status] += 1
        return given, seen, made

    made: list[Any] = []
    with ThreadPoolExecutor(THREADS) as pool:
        for given, seen, ordered in pool.map(shop, range(THREADS)):
            put_there += given
            statuses += seen
            made += ordered
    assert {status for _, status in statuses} <= {200, 201, 404, 409}
    assert statuses["POST", 201] > 5
    assert statuses["PATCH", 200] > 5
    stood = orders(served, client, user)
    assert sorted(each["id"] for each in stood) == sorted(each["id"] for each in made)
    found: Counter[str] = Counter()
    for order in stood:
        for line in order["lines"]:
            found[line["sku"]] += line["quantity"]
    for (_, sku), quantity in cart(client, user).items():
        found[sku] += quantity
    assert found == put_there
