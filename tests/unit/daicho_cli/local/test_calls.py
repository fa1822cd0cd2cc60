"""The first calls of a project come from its own routes and their examples."""

from __future__ import annotations

import datetime as dt
from typing import Any

import httpx
import pytest

from daicho import Aggregate, Count, Domain, Entity, Key, Listing, Search, field, one_of, uid
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.web.http.operation import Operation
from daicho.web.openapi.document import describe_api
from daicho.web.routes.builder import build_operations
from daicho_cli.local.calls import Call, choose_calls, make_first_call
from daicho_cli.local.instance import LocalError

STACK = {"url": "http://api", "tokens": {"acme": "secret"}}


class Product(Entity):
    """Something to find."""

    id: str = uid()
    name: str = field()
    category: str = field()
    seen: dt.date | None = field(default=None)

    key = Key(id)
    search = Search(name)
    of_category = Listing(category, where=one_of(category, "tools"))
    seen_on = Listing(seen)
    sizes = Aggregate(Count(), category, ranked=True)


def build(verbs: str) -> tuple[list[Operation], dict[str, Any]]:
    """The routes of a domain, and their description."""
    domain = Domain("products", Product, examples={"name": "Tea's", "category": "drinks & more"})
    domain.resource("/products/{id}", Product, verbs)
    domain.mount("/categories", Product.sizes.top)
    daicho = Daicho(domain)
    return build_operations(daicho), describe_api(daicho, daicho.append_generations(Ledger()))


PRODUCTS = build("POST GET")


def test_without_a_route_that_creates_there_are_queries() -> None:
    calls = choose_calls(*build("GET"))
    assert {call.method for call in calls} == {"GET"}
    assert Call("GET", "/categories") in calls
    assert choose_calls([], {"paths": {}}) == []


def serve(monkeypatch: pytest.MonkeyPatch, status: int, slow_starts: int = 0) -> None:
    slow = iter(range(slow_starts))

    def answer(request: httpx.Request) -> httpx.Response:
        assert request.headers["authorization"] == "Bearer secret"
        if request.url.path == "/openapi.json":
            if next(slow, None) is not None:
                return httpx.Response(502)
            return httpx.Response(200, json=PRODUCTS[1])
        assert request.method == "GET", "the data is the project's own"
        return httpx.Response(status, text='{"items":[]}')

    client = httpx.Client
    monkeypatch.setattr(
        httpx, "Client", lambda **o: client(**{"transport": httpx.MockTransport(answer), **o})
    )


def test_the_first_call_is_sent_and_its_answer_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, 200)
    chosen, answer = make_first_call(PRODUCTS[0], STACK)
    assert (len(chosen), chosen[0].method) == (5, "POST")
    assert answer == f'GET {chosen[1].path} → 200 {{"items":[]}}'


def test_starts_of_a_function_that_time_out_are_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, 200, slow_starts=2)
    assert make_first_call(PRODUCTS[0], STACK)[1].startswith("GET /products")
    serve(monkeypatch, 200, slow_starts=3)
    with pytest.raises(LocalError, match=r"does not answer: .*502 .*; see make logs"):
        make_first_call(PRODUCTS[0], STACK)


def test_a_failure_of_the_first_call_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, 503)
    with pytest.raises(LocalError, match=r"GET /products.* was answered 503"):
        make_first_call(PRODUCTS[0], STACK)
