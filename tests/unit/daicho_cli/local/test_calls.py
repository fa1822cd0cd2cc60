"""The first calls of a project come from its own OpenAPI document."""

from __future__ import annotations

import json
import shlex
from typing import Any

import httpx
import pytest

from daicho_cli.local.calls import Call, choose_calls, make_first_call
from daicho_cli.local.instance import LocalError

CURSOR = {"name": "cursor", "in": "query", "required": False}
REQUIRED = {"name": "q", "in": "query", "required": True}
STACK = {"url": "http://api", "tokens": {"acme": "secret"}}


def describe(**paths: Any) -> dict[str, Any]:
    return {"paths": {f"/{name}": ways for name, ways in paths.items()}}


def creating(example: Any) -> dict[str, Any]:
    return {"requestBody": {"content": {"application/json": {"example": example}}}}


PRODUCTS = (
    describe(
        about={"get": {"parameters": []}},
        sizes={"get": {"parameters": [CURSOR]}},
        products={"get": {"parameters": [CURSOR]}, "post": creating({"name": "Tea's"})},
        searches={"get": {"parameters": [CURSOR, REQUIRED]}},
    )
    | {}
)
PRODUCTS["paths"]["/products/{id}"] = {"get": {"parameters": [CURSOR]}}


def test_an_item_is_created_and_then_listed() -> None:
    assert choose_calls(PRODUCTS) == [
        Call("POST", "/products", {"name": "Tea's"}),
        Call("GET", "/products"),
        Call("GET", "/sizes"),
    ]


def test_without_a_route_that_creates_there_are_lists() -> None:
    description = describe(things={"get": {"parameters": [CURSOR]}, "put": {}})
    assert choose_calls(description) == [Call("GET", "/things")]
    assert choose_calls(describe()) == []


def test_they_can_be_pasted() -> None:
    post, get, _ = choose_calls(PRODUCTS)
    words = shlex.split(post.render())
    assert json.loads(words[words.index("-d") + 1]) == {"name": "Tea's"}
    assert get.render() == 'curl -s -H "Authorization: Bearer $TOKEN" "$URL/products"'


def serve(monkeypatch: pytest.MonkeyPatch, status: int, description: Any = PRODUCTS) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.headers["authorization"] == "Bearer secret"
        if request.url.path == "/openapi.json":
            return httpx.Response(200, json=description)
        return httpx.Response(status, text='{"id":"1"}')

    client = httpx.Client
    monkeypatch.setattr(
        httpx, "Client", lambda **o: client(transport=httpx.MockTransport(answer), **o)
    )


def test_the_first_call_is_sent_and_its_answer_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, 201)
    chosen, answer = make_first_call(STACK)
    assert len(chosen) == 3
    assert answer == 'POST /products → 201 {"id":"1"}'


def test_a_refusal_of_the_first_call_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, 503)
    with pytest.raises(LocalError, match=r'POST /products was answered 503: \{"id":"1"\}'):
        make_first_call(STACK)


def test_an_api_without_routes_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, 500, describe())
    assert make_first_call(STACK) == ([], "")


def test_no_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    client = httpx.Client
    monkeypatch.setattr(
        httpx, "Client", lambda **o: client(transport=httpx.MockTransport(fail), **o)
    )
    with pytest.raises(LocalError, match="does not answer"):
        make_first_call(STACK)
