"""Processor time of four routes of the API against a hand-written handler, HTTP stubbed.

Both sides handle the same events of API Gateway on the same items, with botocore's HTTP session
replaced by `bench.speed.stubbed_http`, so that signing, serialising and parsing are measured. Both
log at level INFO to nowhere. Neither has quotas.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import json
import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench.speed.figures import Figure, compare_in_pairs
from bench.speed.invocation import ENVIRON, Context
from bench.speed.peers.hand_written_api import HandWrittenApi
from bench.speed.stubbed_http import StubbedHttp, TableAnswers
from daicho.handlers import api
from daicho.plan import Ledger
from daicho.testing.memory_deployment import MemoryDeployment
from domains.devices import Report
from domains.users import User

MAX_RATIO = 1.3
"""The most processor time of a route, in that of the hand-written handler."""
ITEMS = 100
TENANT, SUBJECT = "acme", "mika"
LEDGER = Path(__file__).parents[2] / "functions/generations.json"
Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]
NEW_USER: dict[str, Any] = {
    "name": "Mika Yamada",
    "age": 34,
    "email": "mika@example.com",
    "address": "1-2-3 Ginza, Tokyo",
    "country": "Japan",
}


@dataclass(frozen=True)
class Route:
    """A request that is measured. ``rounds``: how often in one measurement."""

    name: str
    method: str
    path: str
    query: str = ""
    body: Mapping[str, Any] | None = None
    rounds: int = 1

    def build_event(self) -> dict[str, Any]:
        """The request as API Gateway passes it (payload format 2.0)."""
        pairs = dict(pair.split("=") for pair in self.query.split("&") if pair)
        event: dict[str, Any] = {
            "version": "2.0",
            "routeKey": "ANY /{proxy+}",
            "rawPath": self.path,
            "rawQueryString": self.query,
            **({"queryStringParameters": pairs} if pairs else {}),
            "headers": {
                "accept": "application/json",
                "accept-encoding": "gzip, deflate, br",
                "authorization": "Bearer " + "eyJhbGciOiJSUzI1NiJ9" * 40,
                "content-type": "application/json",
                "host": "api.example.com",
                "user-agent": "Mozilla/5.0 (X11; Linux x86_64)",
                "x-amzn-trace-id": "Root=1-5759e988-bd862e3fe1be46a994272793",
                "x-forwarded-for": "203.0.113.1",
                "x-forwarded-port": "443",
                "x-forwarded-proto": "https",
            },
            "requestContext": {
                "accountId": "000000000000",
                "apiId": "api",
                "authorizer": {
                    "jwt": {
                        "claims": {
                            "custom:tenant": TENANT,
                            "sub": SUBJECT,
                            "cognito:groups": "[staff]",
                            "token_use": "access",
                        },
                        "scopes": None,
                    }
                },
                "domainName": "api.example.com",
                "http": {
                    "method": self.method,
                    "path": self.path,
                    "protocol": "HTTP/1.1",
                    "sourceIp": "203.0.113.1",
                    "userAgent": "Mozilla/5.0 (X11; Linux x86_64)",
                },
                "requestId": "id=",
                "routeKey": "ANY /{proxy+}",
                "stage": "$default",
                "time": "12/Mar/2026:19:03:58 +0000",
                "timeEpoch": 1_773_342_238_000,
            },
            "isBase64Encoded": False,
        }
        if self.body is not None:
            event["body"] = json.dumps(self.body)
        return event


ROUTES = (
    Route("GET item", "GET", "/users/user-7", rounds=100),
    Route("list of 100", "GET", "/devices/pump-7/reports", "limit=100", rounds=20),
    Route("POST", "POST", "/users", body=NEW_USER, rounds=100),
    Route("search of 100", "GET", "/users", "name=mik", rounds=10),
)


def measure_figures() -> list[Figure]:
    """The ratio of each route, with the times of one request."""
    with open_sides() as (ours, peer):
        return [_compare(route, ours, peer) for route in ROUTES]


@contextlib.contextmanager
def open_sides() -> Any:
    """The library's handler and the hand-written one, over the same stubbed table."""
    deployment = MemoryDeployment(Ledger.load_newest(LEDGER))
    _store_items(deployment)
    with (
        patch.dict(os.environ, ENVIRON),
        StubbedHttp(TableAnswers(deployment._dynamodb)),
        _log_to_nowhere(),
    ):
        ours, peer = api.build(ENVIRON), HandWrittenApi(ENVIRON["TABLE_NAME"])
        for route in ROUTES:
            _check_same_answer(route, ours, peer)
        yield ours, peer


def _store_items(deployment: MemoryDeployment) -> None:
    """A hundred users whose names one search finds, and as many reports of one device."""
    book, start = (
        deployment.open_book(TENANT),
        dt.datetime(2026, 1, 1, microsecond=1, tzinfo=dt.UTC),
    )
    for number in range(ITEMS):
        user = {**NEW_USER, "name": f"Mika Yamada {number}", "age": 20 + number % 50}
        book.create(User(id=f"user-{number}", **user))
        book.create(
            Report(
                device="pump-7",
                at=start + dt.timedelta(seconds=number),
                status="warning" if number % 3 else "ok",
                message=f"Pressure is falling to {number} kPa",
            )
        )
    deployment.deliver()


def _compare(route: Route, ours: Handler, peer: Handler) -> Figure:
    events = [json.dumps(route.build_event()) for _ in range(route.rounds)]
    measured = compare_in_pairs(lambda: _measure(ours, events), lambda: _measure(peer, events))
    detail = measured.describe(1e6 / route.rounds, "µs")
    return Figure(route.name, measured.ratio, "at most", MAX_RATIO, detail=detail)


def _measure(handler: Handler, events: list[str]) -> float:
    """Seconds of processor time to answer some events, which Lambda passes as new objects."""
    parsed, context = [json.loads(event) for event in events], Context()
    began = time.process_time()
    for event in parsed:
        handler(event, context)
    return time.process_time() - began


def _check_same_answer(route: Route, ours: Handler, peer: Handler) -> None:
    """Both sides must give the same document; only times of creation differ by the side."""
    one, other = (
        json.loads(handler(route.build_event(), Context())["body"]) for handler in (ours, peer)
    )
    if route.method == "POST":
        one.pop("created_at"), other.pop("created_at")
    else:
        other["cursor"] = one.get("cursor")  # each has its own form
        one.setdefault("cursor", None)
    if one != other:
        raise AssertionError(f"{route.name}: {one!r:.500} is not {other!r:.500}")


@contextlib.contextmanager
def _log_to_nowhere() -> Any:
    root, handler = logging.getLogger(), logging.StreamHandler(io.StringIO())
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
