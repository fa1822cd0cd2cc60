"""A tenant's administrator reads the archive and restores it: pages, roles, jobs, kills."""

from __future__ import annotations

import base64
import datetime as dt
import json
import random
from functools import cached_property
from typing import Any

import pytest

from daicho.archive import page_reader
from daicho.book.book import Book
from daicho.declare.domain import Domain
from daicho.declare.registry import Daicho
from daicho.handlers import jobs
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.storage.item_cache import ItemCache
from daicho.tenants.archive_source import ArchiveSource
from daicho.tenants.lifecycle import Tenants
from daicho.web.api import Api
from tests.support.api_client import Client
from tests.support.archive_deployment import BUCKET, LEDGER, Deployed, Entry, write
from tests.support.mortal_stores import Killed, Turns, let_end
from tests.support.stream_pump import Context, environment
from tests.support.trials import scaled
from tests.support.two_tenants import Machine

DAICHO = Daicho(Domain("test", Entry))


def write_key(text: str) -> str:
    """Any text in the form in which the API writes keys."""
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


class Administered:
    """The API and the jobs of the archive's deployment."""

    def __init__(self, deployed: Deployed) -> None:
        self.deployed, self.machine = deployed, Machine()
        machine: Any = self.machine
        tenants = Tenants(
            deployed.table, ItemCache(lambda: deployed.now), machine, lambda: deployed.now
        )
        self.api = Api(
            DAICHO,
            lambda access: Book(deployed.table, LEDGER, access.tenant, access=access),
            tenants=tenants,
            archive=ArchiveSource(LEDGER, lambda: deployed.bucket),
        )
        self.environment = environment(
            deployed.name,
            ARCHIVE_BUCKET=BUCKET,
            FAILURE_BUCKET="failures",
            SETTLE_SECONDS="1",
            SCAN_UNITS="1000",
        )

    def client(self, tenant: str = "one", *groups: str) -> Client:
        claims = {"cognito:groups": [*(groups or ("admin",))]}
        return Client(self.api, tenant, {"sub": "ada", **claims})

    def step(self, lives: int | None = None) -> dict[str, Any]:
        """A step of the newest job, by a process that ends at its request of this number."""
        turns = Turns(lives)
        dependencies = Dependencies(
            table=lambda *_, **__: let_end(self.deployed.table, turns),
            bucket=lambda *_, **__: let_end(self.deployed.bucket, turns),
            now=lambda: self.deployed.now,
            parallelism=1,
        )
        handler = jobs.build(self.environment, LEDGER, dependencies)
        return handler(list(self.machine.started.values())[-1], Context())

    @cached_property
    def period(self) -> dict[str, str]:
        """Days that include the one on which the entries have expired."""
        today = dt.datetime.now(dt.UTC)
        first, last = today - dt.timedelta(days=1), today + dt.timedelta(days=10)
        return {"since": first.isoformat(), "until": last.isoformat()}

    def url(self, **values: Any) -> str:
        parameters = {"entity": "Entry", **self.period, **values}
        return "/archive?" + "&".join(
            f"{name}={str(value).replace('+', '%2B')}" for name, value in parameters.items()
        )

    def rows(self, tenant: str = "one", **values: Any) -> list[dict[str, Any]]:
        """All pages."""
        found: list[dict[str, Any]] = []
        cursor: dict[str, str] = {}
        for _ in range(50):
            page = self.client(tenant).good("GET", self.url(**values, **cursor))
            found += page["items"]
            if page["cursor"] is None:
                return found
            cursor = {"cursor": page["cursor"]}
        raise AssertionError("the list does not end")


@pytest.fixture
def administered(deployed: Deployed) -> Administered:
    """Nine entries of two tenants have expired."""
    write(deployed)
    deployed.now += dt.timedelta(days=8)
    deployed.expire()
    deployed.now -= dt.timedelta(days=8)
    return Administered(deployed)


def test_pages_have_each_row_of_the_tenant_once(
    administered: Administered, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = administered.rows()
    assert sorted(row["item"]["text"] for row in whole) == [f"note {n}" for n in range(5)]
    assert {row["entity"] for row in whole} == {"Entry"}
    for limit in (1, 2, 3):
        assert administered.rows(limit=limit) == whole
    monkeypatch.setattr(page_reader, "MAX_OBJECTS", 1)
    assert administered.rows(limit=2) == whole
    assert len(administered.rows("two")) == 4
    assert administered.rows("three") == []


def test_only_administrators_of_the_tenant_read_it(administered: Administered) -> None:
    url = administered.url(limit=2)
    cursor = administered.client().good("GET", url)["cursor"]
    for method, address, body in (
        ("GET", url, None),
        ("GET", "/jobs", None),
        ("POST", "/archive/restorations", {"entity": "Entry", **administered.period}),
    ):
        refused = administered.client("one", "staff")(method, address, body)
        assert (refused.status, "admin" in refused.text) == (403, True)
    other = administered.client("two")("GET", f"{url}&cursor={cursor}")
    assert other.status == 400
    key = administered.rows()[0]["key"]
    body = {"entity": "Entry", **administered.period, "key": key}
    assert administered.client("two")("POST", "/archive/restorations", body).status == 422
    job = administered.client().good(
        "POST", "/archive/restorations", {"entity": "Entry", **administered.period}
    )
    assert administered.client("two")("GET", f"/jobs/{job['id']}").status == 404
    assert administered.client("two").good("GET", "/jobs")["items"] == []


REFUSED: tuple[dict[str, Any], ...] = (
    {"entity": "Nothing"},
    {"since": "yesterday"},
    {"since": "2026-11-24T00:00:00"},
    {"since": "2126-11-24T00:00:00Z"},
    {"key": "x"},
    {"key": "WyJvbmUiXQ"},
    {"key": "日本語"},
    {"key": ""},
    {"key": write_key("[" * 5_000)},
    {"key": write_key("[" * 9_000 + "]" * 9_000)},
    {"key": write_key('{"a":' * 3_000)},
    {"key": "A" * 500_000},
    {"key": write_key(json.dumps(["one#Entry#" + "x" * 500_000, "y"]))},
    {"key": write_key(json.dumps(["one#Entry#" + "x" * 2_100, "y"]))},
    {"key": write_key(json.dumps(["one#Entry#a", "x" * 1_025]))},
    {"key": write_key(json.dumps(["one#Entry#a", ""]))},
    {"key": write_key('["one#Entry#\\ud800","y"]')},
    {"key": write_key('["one#Entry#a","\\udfff"]')},
    {"key": write_key('["one#Entry#a",["y"]]')},
    {"key": write_key('["one#Entry#a",1e999]')},
    {"key": write_key('["one#Entry#a",' + "9" * 5_000 + "]")},
    {"key": write_key('["one#Entry#a","y","z"]')},
    {"key": write_key('["one#Entry#a", "y"]')},
    {"key": write_key('{"one#Entry#a":1,"y":2}')},
    {"key": write_key('["one#Entry#a","y"]') + "\ud800"},
    {"key": write_key('["two#Entry#a","y"]')},
    {"key": base64.urlsafe_b64encode(b'["\xff","y"]').decode()},
    {"since": "0001-01-01T00:00:00+14:00"},
    {"until": "9999-12-31T23:59:59-14:00"},
    {"over_newer": "yes"},
    {"more": 1},
)


def test_a_request_of_another_form_is_refused(administered: Administered) -> None:
    client = administered.client()
    for changed in REFUSED:
        body = {"entity": "Entry", **administered.period} | changed
        answer = client("POST", "/archive/restorations", body)
        assert answer.status in (400, 422), (changed, answer.text)
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert len(answer.text) < 2_000
        if changed.keys() <= {"entity", "since", "until"}:
            assert client("GET", administered.url(**changed)).status == 422, changed
    assert administered.machine.started == {}


def test_a_restore_is_a_job_with_counts(administered: Administered) -> None:
    deployed, client = administered.deployed, administered.client()
    before = deployed.counts("a")
    body = {"entity": "Entry", **administered.period}
    tried = client.good("POST", "/archive/restorations", {**body, "dry_run": True})
    assert tried["state"] == "running"
    assert administered.step() == {"done": True, "wait": 0}
    shown = client.good("GET", f"/jobs/{tried['id']}")
    assert (shown["state"], shown["counts"]["restored"], shown["rows"]) == ("succeeded", 5, 5)
    assert deployed.texts() == []

    one = next(row for row in administered.rows() if row["item"]["id"] == "3")
    job = client.good("POST", "/archive/restorations", {**body, "key": one["key"]})
    administered.step()
    assert client.good("GET", f"/jobs/{job['id']}")["counts"]["restored"] == 1
    deployed.settle()
    assert deployed.texts() == ["note 3"]

    deployed.now += dt.timedelta(seconds=1)
    client.good("POST", "/archive/restorations", body)
    administered.step()
    deployed.settle()
    assert sorted(deployed.texts()) == [f"note {n}" for n in range(5)]
    assert deployed.counts("a")[1] == before[1]
    listed = client.good("GET", "/jobs")["items"]
    assert [each["counts"]["restored"] for each in listed] == [4, 1, 5]
    assert [each["counts"]["already"] for each in listed] == [1, 0, 0]
    first = client.good("GET", "/jobs?limit=2")
    rest = client.good("GET", f"/jobs?limit=2&cursor={first['cursor']}")
    assert [*first["items"], *rest["items"]] == listed
    assert rest["cursor"] is None
    assert deployed.texts("two") == []


@pytest.mark.parametrize("place", range(1, 26, scaled(3, otherwise=12)))
def test_a_killed_step_counts_each_row_once(administered: Administered, place: int) -> None:
    client, chance = administered.client(), random.Random(place)
    job = client.good("POST", "/archive/restorations", {"entity": "Entry", **administered.period})
    lives: list[int | None] = [place, place + chance.randrange(1, 9), None]
    for life in lives:
        try:
            if administered.step(life)["done"]:
                break
        except Killed:
            administered.deployed.settle()
    shown = client.good("GET", f"/jobs/{job['id']}")
    assert (shown["state"], shown["rows"], shown["items"]) == ("succeeded", 5, 5)
    assert shown["counts"] == {
        **dict.fromkeys(("replaced", "already", "newer", "waiting", "failed"), 0),
        "restored": 5,
    }
    administered.deployed.settle()
    assert sorted(administered.deployed.texts()) == [f"note {n}" for n in range(5)]
