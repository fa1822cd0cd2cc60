"""Carts over the real handlers: states, moves, and orders made of them, by many at once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from daicho.errors import ThrottledError, UnansweredError
from daicho.handlers import api
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.storage.table import Table
from domains.carts import MOST_AT_ONCE, MOST_OF_ONE
from tests.support.api_client import Client, segment
from tests.support.deployment import Served
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


def test_a_cart_is_read_whole_or_by_state(acme: Client, globex: Client) -> None:
    for state in STATES:
        for sku in ("tea", "a#b", "active#tea", "茶 $23!", "10", "9"):
            put(acme, "ann", sku, state, STATES.index(state) + 1)
    put(acme, "ann2", "tea")
    whole = cart(acme, "ann")
    assert len(whole) == 18
    for state in STATES:
        part = cart(acme, "ann", state)
        assert part == {key: n for key, n in whole.items() if key[0] == state}
        assert set(part.values()) == {STATES.index(state) + 1}
    assert cart(globex, "ann") == {}
    wrong = acme("GET", "/carts/ann?state=gone")
    assert (wrong.status, wrong.fields) == (422, {"state"})
    item = acme.good("GET", "/carts/ann/items/tea?state=saved")
    assert (item["quantity"], item["state"], item["price"]) == (2, "saved", "0.00")
    assert acme.good("GET", "/carts/ann/items/tea")["state"] == "active"
    acme.good("DELETE", "/carts/ann/items/tea?state=saved")
    assert acme("DELETE", "/carts/ann/items/tea?state=saved").status == 404
    assert len(cart(acme, "ann")) == 17


def test_an_item_moves_and_is_added_to_what_is_there(acme: Client) -> None:
    put(acme, "bob", "tea", "wish", 2)
    url = "/carts/bob/items/tea"
    moved = acme("PATCH", f"{url}?state=wish", {"state": "active"})
    assert (moved.status, moved.json["version"], moved.headers["ETag"]) == (200, 2, '"2"')
    assert cart(acme, "bob") == {("active", "tea"): 2}
    put(acme, "bob", "tea", "saved", 5)
    stale = acme("PATCH", f"{url}?state=saved", {"state": "active"}, if_match='"2"')
    assert stale.status == 412
    merged = acme("PATCH", f"{url}?state=saved", {"state": "active"}, if_match='"1"')
    assert (merged.status, merged.json["quantity"]) == (200, 7)
    assert cart(acme, "bob") == {("active", "tea"): 7}
    put(acme, "bob", "tea", "saved", 1)
    more = acme("PATCH", f"{url}?state=saved", {"state": "active", "quantity": 3})
    assert more.json["quantity"] == 10
    put(acme, "bob", "tea", "saved", MOST_OF_ONE)
    before = cart(acme, "bob")
    full = acme("PATCH", f"{url}?state=saved", {"state": "active"})
    assert (full.status, full.fields) == (422, {"quantity"})
    assert cart(acme, "bob") == before
    same = acme.good("PATCH", url, {"state": "active", "quantity": 4, "price": "2.5"})
    assert (same["quantity"], same["price"]) == (4, "2.50")
    for body, status in (
        ({"quantity": 0}, 422), ({"quantity": 1000}, 422), ({"quantity": "1"}, 422),
        ({"quantity": 1.5}, 422), ({"quantity": None}, 422), ({"state": "gone"}, 422),
        ({"state": None}, 422), ({"sku": "x"}, 422), ({"price": -1}, 422), ([], 422),
    ):  # fmt: skip
        assert acme("PATCH", url, body).status == status, body
    assert acme("PATCH", "/carts/bob/items/none", {"state": "saved"}).status == 404
    for tag, status in (('"1", "2"', 400), ("x", 400), ('W/"5"', 412), ("*", 200)):
        assert acme("PATCH", url, {"quantity": 4}, if_match=tag).status == status
    for body in ({"quantity": 0}, {"quantity": 1000}, {"price": "1.234"}, {"note": "x"}):
        assert acme("PUT", url, body).status == 422
    assert acme("PUT", f"/carts/bob/items/{'s' * 201}", {}).status == 422


def test_what_is_active_is_ordered(served: Served, acme: Client) -> None:
    for sku, quantity, price in (("tea", 2, "1.5"), ("a#b", 1, "0.25"), ("茶", 3, "100")):
        body = {"quantity": quantity, "price": price}
        acme.good("PUT", f"/carts/cleo/items/{segment(sku)}", body)
    for state in ("saved", "wish"):
        put(acme, "cleo", "tea", state, 9)
    made = acme("POST", "/carts/cleo/checkout", idempotency_key="cleo's first")
    assert made.status == 201
    order = made.json
    lines = {line["sku"]: (line["quantity"], line["price"]) for line in order["lines"]}
    assert lines == {"tea": (2, "1.50"), "a#b": (1, "0.25"), "茶": (3, "100.00")}
    assert (order["customer"], order["status"], order["total"]) == ("cleo", "open", "303.25")
    assert acme.good("GET", made.headers["Location"]) == order
    assert set(cart(acme, "cleo")) == {("saved", "tea"), ("wish", "tea")}
    again = acme("POST", "/carts/cleo/checkout", idempotency_key="cleo's first")
    assert (again.status, again.text, again.headers) == (201, made.text, made.headers)
    put(acme, "cleo", "tea")
    third = acme("POST", "/carts/cleo/checkout", idempotency_key="cleo's first")
    assert third.text == made.text
    assert len(cart(acme, "cleo")) == 3
    other = acme("POST", "/carts/bob/checkout", idempotency_key="cleo's first")
    assert (other.status, other.fields) == (422, {"Idempotency-Key"})
    assert other.json["type"].endswith("/problems/idempotency-key-reused")
    assert acme("POST", "/carts/cleo/checkout").status == 201
    for user in ("cleo", "nobody"):
        empty = acme("POST", f"/carts/{user}/checkout")
        assert (empty.status, "Retry-After" in empty.headers) == (409, False)
    assert len(orders(served, acme, "cleo")) == 2


@pytest.mark.parametrize("keyed", [False, True])
def test_a_checkout_has_its_most(served: Served, acme: Client, keyed: bool) -> None:
    user = f"dora{keyed}"
    most = MOST_AT_ONCE - 1 if keyed else MOST_AT_ONCE
    for number in range(MOST_AT_ONCE + 1):
        put(acme, user, f"sku{number}")
    for left in range(MOST_AT_ONCE + 1, most - 1, -1):
        key = {"idempotency_key": f"{user}{left}"} if keyed else {}
        answer = acme("POST", f"/carts/{user}/checkout", **key)
        if left > most:
            assert answer.status == 422
            assert "at once" in answer.json["detail"]
            moved = {"state": "saved"}
            acme.good("PATCH", f"/carts/{user}/items/sku{left - 1}", moved)
    assert (answer.status, len(answer.json["lines"])) == (201, most)
    assert set(cart(acme, user)) == {
        ("saved", f"sku{number}") for number in range(most, MOST_AT_ONCE + 1)
    }


class Meddling(Table):
    """A table at which somebody else is at the last moment."""

    meddle: Callable[[], object] | None = None

    def transact(self, writes: Any) -> None:
        if self.meddle:
            meddle, self.meddle = self.meddle, None
            meddle()
        super().transact(writes)


@pytest.mark.parametrize("keyed", [False, True])
def test_a_cart_that_changes_during_its_checkout(served: Served, acme: Client, keyed: bool) -> None:
    table = Meddling(served.dynamodb, served.table.name)
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
        table.meddle = lambda meddle=meddle, user=user: meddle(f"/carts/{user}")
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


class Died(BaseException):
    """The process ends."""


class Failing(Table):
    """A table of whose calls one fails, before or after it was carried out."""

    calls = 0
    fails_at = 0
    before = False
    error: BaseException | None = None

    def _called(self, call: Callable[[], Any]) -> Any:
        self.calls += 1
        failing = self.error if self.calls == self.fails_at else None
        if failing is not None and self.before:
            raise failing
        answer = call()
        if failing is not None:
            raise failing
        return answer

    def get(self, *given: Any, **named: Any) -> Any:
        return self._called(lambda: super(Failing, self).get(*given, **named))

    def query(self, *given: Any, **named: Any) -> Any:
        return self._called(lambda: super(Failing, self).query(*given, **named))

    def batch_get(self, *given: Any, **named: Any) -> Any:
        return self._called(lambda: super(Failing, self).batch_get(*given, **named))

    def transact(self, *given: Any, **named: Any) -> Any:
        return self._called(lambda: super(Failing, self).transact(*given, **named))


@pytest.mark.parametrize(
    ("error", "before"),
    [
        (Died(), True),
        (Died(), False),
        (UnansweredError("silence"), True),
        (UnansweredError("silence"), False),
        (ThrottledError("busy"), True),
    ],
)
def test_whatever_fails_a_repeat_finds_it_done_or_does_it(
    served: Served, acme: Client, error: BaseException, before: bool
) -> None:
    table = Failing(served.dynamodb, served.table.name)
    dependencies = Dependencies(table=lambda *_, **__: table)
    client = Client(api.build(environment(table.name), dependencies=dependencies), "acme")
    for fails_at in range(1, 20):
        user = f"kim{type(error).__name__}{before}{fails_at}"
        for sku in ("tea", "milk"):
            put(acme, user, sku, quantity=2)
        table.calls, table.fails_at, table.before, table.error = 0, fails_at, before, error

        def check_out(user: str = user) -> Any:
            return client("POST", f"/carts/{user}/checkout", idempotency_key=user)

        try:
            first = check_out()
        except Died:
            first = None
        failed = table.calls >= fails_at
        table.error = None
        answer = check_out()
        assert answer.status == 201
        assert {line["sku"] for line in answer.json["lines"]} == {"tea", "milk"}
        if first is not None and first.status == 201:
            assert first.text == answer.text
        elif first is not None:
            assert (first.status, first.headers["Retry-After"]) in ((503, "1"), (429, "1"))
        assert cart(acme, user) == {}
        assert [each["id"] for each in orders(served, acme, user)] == [answer.json["id"]]
        if not failed:
            return
    raise AssertionError("it never came to its end")


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
