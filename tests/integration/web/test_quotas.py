"""Quotas over the real handlers: one tenant is refused, another is not, and units are counted."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho.errors import UnansweredError
from daicho.handlers import api
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.handlers.wiring.invocation import Handler
from daicho.runtime.tenant_limits import Limits, TenantLimits
from daicho.storage.table import Table
from daicho.tenants.quota import MAX_DEBT, MIN_DEBT
from daicho.tenants.quotas import FAILED_METRIC
from tests.support.api_client import STAFF, Answer, Client
from tests.support.deployment import Served, serving_on
from tests.support.metric_lines import read_values
from tests.support.sample_project import DOMAIN_PACKAGE, LEDGER
from tests.support.stream_pump import environment

LIMITS = TenantLimits(Limits(), {"attacker": Limits(50), "collector": Limits(items=2)})


class CountedClient:
    """A client of DynamoDB that counts its requests."""

    def __init__(self, client: DynamoDBClient) -> None:
        self._client, self.requests = client, Counter[str]()

    def __getattr__(self, name: str) -> Any:
        self.requests[name] += 1
        return getattr(self._client, name)


@pytest.fixture(scope="module")
def served(dynamo: str, dynamodb: DynamoDBClient) -> Iterator[Served]:
    with serving_on(dynamo, dynamodb, DOMAIN_PACKAGE, LEDGER) as deployed:
        yield deployed


@pytest.fixture
def dynamodb_client(dynamodb: DynamoDBClient) -> CountedClient:
    return CountedClient(dynamodb)


@pytest.fixture
def handler(served: Served, dynamodb_client: CountedClient) -> Handler:
    """The API with quotas, in a moment that does not pass."""
    client: Any = dynamodb_client
    now = time.time()
    dependencies = Dependencies(
        table=lambda name, **_: Table(client, name), time=lambda: now, parallelism=1
    )
    settings = environment(
        served.table.name, DOMAIN_PACKAGE=DOMAIN_PACKAGE, TENANT_LIMITS=LIMITS.render()
    )
    return api.build(settings, LEDGER, dependencies)


def read_today(client: Client) -> Any:
    return client.good("GET", "/limits")["today"]


def test_an_attacker_is_refused_before_anything_is_read_and_a_victim_is_not(
    handler: Handler, dynamodb_client: CountedClient
) -> None:
    attacker, victim = Client(handler, "attacker"), Client(handler, "victim")
    attacks: list[Answer] = []
    for number in range(400):
        attacks.append(attacker("GET", "/artists?name=ka"))
        if not number % 10:
            assert victim("GET", "/artists?name=ka").status == 200
    statuses = Counter(answer.status for answer in attacks)
    assert statuses == {200: 51, 429: 349}  # a burst of a second, and the request that exceeds it
    before = dynamodb_client.requests.total()
    refused = attacker("POST", "/artists", raw="{")
    assert dynamodb_client.requests.total() == before
    assert refused.status == 429
    assert refused.headers["Retry-After"] == "1"
    assert refused.json["type"] == "/problems/over-quota"
    assert refused.json["detail"] == "the tenant is over its limit of requests: wait for 1 s"
    assert refused.fields == {"requests"}
    assert attacker("GET", "/openapi.json").status == 200
    assert victim("POST", "/artists", {"name": "Kate"}).status == 201


def test_fifty_requests_a_second_of_an_attacker_do_not_refuse_a_victim(served: Served) -> None:
    limits = TenantLimits(Limits(20), {"attacker": Limits(20, burst_seconds=2)})
    settings = environment(
        served.table.name, DOMAIN_PACKAGE=DOMAIN_PACKAGE, TENANT_LIMITS=limits.render()
    )
    client: Any = served.dynamodb
    began, sent, seconds = time.time(), 0, 20
    dependencies = Dependencies(
        table=lambda name, **_: Table(client, name), time=lambda: began + sent / 50, parallelism=1
    )
    processes = [api.build(settings, LEDGER, dependencies) for _ in range(2)]
    statuses = Counter[tuple[str, int]]()
    while sent < 50 * seconds:
        for tenant in ("attacker", "victim") if sent % 10 == 0 else ("attacker",):
            answer = Client(processes[sent % 2], tenant)("GET", "/artists?name=ka")
            statuses[tenant, answer.status] += 1
        sent += 1
    assert statuses["victim", 200] == 5 * seconds
    assert statuses.keys() == {("attacker", 200), ("attacker", 429), ("victim", 200)}
    # A rate, a burst, and a debt of each process.
    most = 20 * (seconds + 2) + 2 * (MIN_DEBT + 1)
    assert 20 * seconds <= statuses["attacker", 200] <= most, statuses


def test_the_limits_show_what_is_left_and_what_was_consumed(handler: Handler) -> None:
    client = Client(handler, "reader")
    for _ in range(30):
        client.good("GET", "/artists?name=ka")
    answer = client.good("GET", "/limits")
    limits = Limits()
    assert answer["burst_seconds"] == limits.burst_seconds
    assert answer["requests"] == {"per_second": limits.requests, "available": limits.requests - 30}
    assert 0 < limits.read_units - answer["read_units"]["available"] < 100
    assert answer["write_units"]["available"] == limits.write_units
    today = answer["today"]
    assert (today["requests"], today["write_units"], today["refused"]) == (30, 0, 0)
    assert today["read_units"] > 0
    assert today["bytes"] >= 30 * len('{"items":[],"cursor":null}')


def test_a_write_is_charged_with_what_derives_from_it(served: Served, handler: Handler) -> None:
    client = Client(handler, "writer")
    contact = client("POST", "/contacts", {"name": "Ada Lovelace", "phone": "+81312345678"})
    assert contact.status == 201, contact.text
    charged = read_today(client)["write_units"]
    served.catch_up()
    derived = [
        item
        for item in served.list_items()
        if item["PK"]["S"].startswith("writer#") and "seq" in item and "GSI2PK" in item
    ]
    rows = [item for item in derived if item["PK"]["S"].startswith("writer#~")]
    assert len(rows) > 10
    assert 1 + 2 * len(rows) <= charged <= 1 + 2 * len(rows) + 10
    path = contact.headers["Location"]
    client.good("PATCH", path, {"phone": "+81312345678"})
    unchanged = read_today(client)["write_units"] - charged
    assert 1 <= unchanged <= 4
    assert client("DELETE", path).status == 204
    removed = read_today(client)["write_units"] - charged - unchanged
    assert 1 + 2 * len(rows) <= removed <= charged + 1


def test_a_repeat_under_an_idempotency_key_is_no_second_request(handler: Handler) -> None:
    client = Client(handler, "repeater")
    sent = [
        client("POST", "/artists", {"name": "Kate"}, idempotency_key="k").status for _ in range(5)
    ]
    assert sent == [201] * 5
    today = read_today(client)
    assert today["requests"] == 1
    once = today["write_units"]
    client("POST", "/artists", {"name": "Kate"}, idempotency_key="other")
    assert read_today(client)["write_units"] == 2 * once


def test_a_quota_that_cannot_be_added_to_refuses_nothing(
    handler: Handler,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise UnansweredError("no answer")

    client = Client(handler, "patient")
    monkeypatch.setattr(Table, "update", fail)
    for _ in range(2 * MAX_DEBT + 2):
        assert client("GET", "/artists?name=ka").status == 200
    assert read_values(capsys.readouterr().out)[FAILED_METRIC] == 1


def test_a_tenant_with_as_many_items_as_it_may_have_creates_none(
    served: Served, handler: Handler
) -> None:
    client = Client(handler, "collector", STAFF)
    paths = [client("POST", "/contacts", {"name": "Ada"}).headers["Location"] for _ in range(2)]
    served.catch_up()
    assert client.good("GET", "/limits")["items"] == {"most": 2, "stored": 2}
    for path, body in (("/contacts", {"name": "Eve"}), ("/artists", {"name": "Kate"})):
        refused = client("POST", path, body)
        assert (refused.status, refused.headers["Retry-After"]) == (429, "5")
        assert refused.json["type"] == "/problems/over-quota"
        assert refused.fields == {"items"}
        assert "delete some before" in refused.json["detail"]
    assert client("PUT", "/documents/d", {"title": "a", "sections": {"s": 1}}).status == 429
    assert client("PATCH", paths[0], {"name": "Eve"}).status == 200
    assert client("DELETE", paths[1]).status == 204
    served.catch_up()
    assert client.good("GET", "/limits")["items"] == {"most": 2, "stored": 1}
    assert client("POST", "/contacts", {"name": "Eve"}).status == 201


def test_without_limits_there_are_no_quotas(served: Served) -> None:
    client = Client(served.handler, "free", STAFF)
    assert client("GET", "/limits").status == 404
    assert {client("GET", "/artists?name=ka").status for _ in range(100)} == {200}
