"""The API of the sample domains in memory, behind a client of the smoke test, with faults."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import httpx
import pytest

from daicho.book.book import Book
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.query.access import Access
from daicho.testing import MemoryDeployment
from daicho.testing.aws.memory_s3 import MemoryS3
from daicho.web.api import Api as WebApi
from daicho.web.openapi.document import describe_api
from daicho_cli.aws import Stack
from daicho_cli.smoke import calls, run
from daicho_cli.smoke import checks as derived_checks
from daicho_cli.smoke.calls import Api, CheckResult
from daicho_cli.smoke.routes import Routes
from daicho_cli.smoke.run import SmokeRun
from tests.support.api_client import Answer, Client
from tests.support.sample_project import DAICHO, LEDGER

URL, OBJECTS = "http://api", "http://objects"
PATIENCE_S = 0.2
KEPT_HEADERS = ("if-match", "if-none-match", "idempotency-key")


class MemoryApi:
    """Answers requests as the deployed API does; subclasses plant one fault each."""

    daicho, ledger = DAICHO, LEDGER

    def __init__(self) -> None:
        self.deployment = MemoryDeployment(self.ledger)
        self.objects: dict[str, bytes] = {}
        self.requests: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(f"{request.method} {request.url.path}")
        if request.url.host == "objects":
            return self.answer_object(request)
        if request.url.path == "/docs":
            return httpx.Response(200, headers={"content-type": "text/html"}, text="<html>")
        if request.url.path == "/openapi.json":
            return httpx.Response(200, json=self.describe())
        if "authorization" not in request.headers:
            return self.refuse_anonymous()
        headers = {name: request.headers[name] for name in KEPT_HEADERS if name in request.headers}
        answer = self.answer(request, headers)
        if request.method != "GET":
            self.derive()
        return httpx.Response(
            answer.status, headers=dict(answer.headers), content=answer.text.encode()
        )

    def answer(self, request: httpx.Request, headers: dict[str, str]) -> Answer:
        web, opened = _build_web_api(self.daicho)
        opened["book"] = self.deployment.open_book
        send = Client(web, "smoke")
        named = {name.replace("-", "_"): value for name, value in headers.items()}
        url = request.url.raw_path.decode()
        return send(request.method, url, raw=request.content.decode() or None, **named)

    def answer_object(self, request: httpx.Request) -> httpx.Response:
        if request.method == "PUT":
            self.objects[request.url.path] = request.content
        return httpx.Response(200, content=self.objects.get(request.url.path, b""))

    def describe(self) -> object:
        return _describe(self.daicho)

    def refuse_anonymous(self) -> httpx.Response:
        return httpx.Response(401, json={"message": "Unauthorized"})

    def derive(self) -> None:
        self.deployment.catch_up()


@cache
def _build_web_api(daicho: Daicho) -> tuple[WebApi, dict[str, Callable[[str, Access], Book]]]:
    """The API, which costs more to build than to call, and how its books are opened."""
    opened: dict[str, Callable[[str, Access], Book]] = {}

    def open_book(access: Access) -> Book:
        return opened["book"](access.tenant, access)

    return WebApi(daicho, open_book), opened


@cache
def _describe(daicho: Daicho) -> object:
    ledger = daicho.append_generations(Ledger())
    return json.loads(json.dumps(describe_api(daicho, ledger)))


@cache
def _find_routes(daicho: Daicho) -> Routes:
    return Routes(daicho)


@dataclass
class Driven:
    """A run over an API in memory."""

    results: list[CheckResult]
    requests: list[str]


@contextmanager
def open_memory_api(api: MemoryApi) -> Iterator[Api]:
    headers = {"authorization": "Bearer token"}
    transport = httpx.MockTransport(api)
    with httpx.Client(transport=transport, base_url=URL, headers=headers) as client:
        yield Api(client, PATIENCE_S)


def drive(api: MemoryApi) -> Driven:
    """Drive all kinds of routes."""
    driving = SmokeRun(Stack(URL, {"ApiUrl": URL}), api.daicho, api.ledger, PATIENCE_S)
    driving.__dict__["routes"] = _find_routes(api.daicho)
    with open_memory_api(api) as client:
        driving.check_routes(client)
    return Driven(driving.checks.results, api.requests)


@pytest.fixture
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing happens in between here, and signed URLs lead to the objects in memory."""
    monkeypatch.setattr(calls, "PAUSE_S", 0.02)
    monkeypatch.setattr(derived_checks, "PAUSE_S", 0.0)
    monkeypatch.setattr(run, "SETTLED_S", 0.0)

    def sign(_self: MemoryS3, _method: str, Params: dict[str, str], **_: object) -> str:
        return f"{OBJECTS}/{Params['Key']}"

    monkeypatch.setattr(MemoryS3, "generate_presigned_url", sign, raising=False)
