"""Requests under an Idempotency-Key over the real handlers, whatever they change."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho.errors import ContendedError
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.storage.table import Table
from daicho.web.http import endpoint
from daicho.write import sender
from tests.support.api_client import Client
from tests.support.deployment import Served, serving_on
from tests.support.described_routes import items_of
from tests.support.sample_project import DOMAIN_PACKAGE, LEDGER

KEYS = ("acme#~request#k", 'a b/c?d=é😀"', "k" * 255)


@pytest.fixture(scope="module")
def served(dynamo: str, dynamodb: DynamoDBClient) -> Iterator[Served]:
    """Over a real interface: requests come at once, and their units are counted."""
    with serving_on(dynamo, dynamodb, DOMAIN_PACKAGE, LEDGER) as deployed:
        yield deployed


@pytest.mark.parametrize("key", KEYS)
def test_whatever_is_changed_is_changed_once(served: Served, key: str) -> None:
    once = served.client("once")

    def twice(method: str, url: str, body: Any = None, **headers: str) -> Any:
        whole = f"{method[:3]}{key}"[:255]
        first, again = (once(method, url, body, idempotency_key=whole, **headers) for _ in "12")
        assert (first.status, first.text) == (again.status, again.text)
        assert first.headers == again.headers
        assert first.status < 300
        other = once(method, f"{url}x", body, idempotency_key=whole, **headers)
        assert (other.status, other.fields) in ((422, {"Idempotency-Key"}), (404, set()))
        return first

    made = twice("POST", "/artists", {"name": "Kate Bush"})
    where = made.headers["Location"]
    assert twice("PUT", where, {"name": "Kate"}).json["version"] == 2
    assert twice("PATCH", where, {"name": "K."}, if_match='"2"').json["version"] == 3
    assert once.good("GET", where)["version"] == 3
    assert twice("DELETE", where).status == 204
    once.good("PUT", where, {"name": "Another"})
    assert once("DELETE", where, idempotency_key=f"DEL{key}"[:255]).status == 204
    assert once.good("GET", where)["name"] == "Another"
    # What was answered stays what was answered.
    assert once(
        "POST", "/artists", {"name": "Kate Bush"}, idempotency_key=f"POS{key}"[:255]
    ).json == (made.json)


def test_what_is_refused_is_not_remembered(served: Served) -> None:
    once = served.client("refused")
    before = len(items_of(served, "refused"))
    for body, status in (({}, 422), ({"name": 1}, 422), ({"name": "x", "nmae": 1}, 422)):
        assert once("POST", "/artists", body, idempotency_key="k").status == status
    assert once("PATCH", "/artists/none", {"name": "x"}, idempotency_key="k").status == 404
    assert (
        once("PUT", "/artists/1", {"name": "x"}, idempotency_key="k", if_match='"1"').status == 412
    )
    assert len(items_of(served, "refused")) == before
    assert once("POST", "/artists", {"name": "x"}, idempotency_key="k").status == 201
    for wrong in ("", "k" * 256):
        answer = once("POST", "/artists", {"name": "x"}, idempotency_key=wrong)
        assert (answer.status, answer.fields) == (400, {"Idempotency-Key"})


def test_the_same_request_many_times_at_once(served: Served) -> None:
    once = served.client("crowd")

    def send(number: int) -> tuple[int, str]:
        answer = once("POST", "/artists", {"name": "x"}, idempotency_key=f"k{number % 3}")
        return answer.status, answer.text

    with ThreadPoolExecutor(8) as pool:
        found = Counter(pool.map(send, range(48)))
    bodies = {text for status, text in found if status == 201}
    assert {status for status, _ in found} <= {201, 409}
    assert len(bodies) == 3
    assert len([i for i in items_of(served, "crowd") if "type" in i]) == 3


def test_a_large_item_and_its_answer(served: Served) -> None:
    """An item near its limit of 400 KB, and an answer as long, of noise that hardly compresses."""
    once = served.client("large")
    noise = "".join(random.Random(1).choices([chr(n) for n in range(0x4E00, 0x9FFF)], k=9_990))
    lines = [{"sku": noise[n : n + 190]} for n in range(0, 9_990, 190)]
    body = {"date": "2026-11-21", "customer": "ann", "lines": lines}
    first = once("POST", "/orders", body, idempotency_key="k")
    assert (first.status, len(first.text.encode()) > 30_000) == (201, True)
    assert once("POST", "/orders", body, idempotency_key="k").text == first.text
    assert once("POST", "/orders", {**body, "lines": []}, idempotency_key="k").status == 422


@pytest.mark.dynoxide("capacity units")
def test_what_a_key_costs(served: Served) -> None:
    table = served.table.with_metering()
    dependencies = Dependencies(table=lambda *_, **__: table)
    client = Client(served.build_api(dependencies), "costs")
    client.good("GET", "/artists?name=x")  # whether the tenant is closed is known for a while
    taken = []
    for headers in ({}, {"idempotency_key": "a"}, {"idempotency_key": "a"}):
        table.budget.take_total()
        client.good("POST", "/artists", {"name": "x"}, **headers)
        taken.append(table.budget.take_total())
    assert taken == [(0.0, 1.0), (2.0, 4.0), (1.0, 0.0)]


class Busy(Table):
    """A table at whose items transactions of others are all the time."""

    def transact(self, _writes: Any) -> None:
        raise ContendedError("a transaction is there")

    def put(self, *_given: Any, **_named: Any) -> None:
        raise ContendedError("a transaction is there")


def test_what_others_are_at_all_the_time_is_a_409(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "RACE_RETRY_S", 0.0)
    monkeypatch.setattr(sender, "CONTENTION_RETRY_S", 0.0)
    dependencies = Dependencies(table=lambda *_, **__: Busy(served.dynamodb, served.table.name))
    client = Client(served.build_api(dependencies), "busy")
    for headers in ({}, {"idempotency_key": "k"}):
        answer = client("POST", "/artists", {"name": "x"}, **headers)
        assert (answer.status, answer.headers["Retry-After"]) == (409, "1")
    assert not items_of(served, "busy")
