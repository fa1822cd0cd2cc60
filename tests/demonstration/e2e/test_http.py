"""HTTP as its users expect it: over the gateway, which decodes paths and answers some itself."""

from __future__ import annotations

import json
import socket
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pytest

from tests.demonstration.support.routes import DEMONSTRATION_ROUTES
from tests.e2e.api import client, send
from tests.support.api_client import Answer
from tests.support.documented_answers import AnswerChecker, Replay, sort_by_harm

PROBLEM = "application/problem+json"


@pytest.fixture(scope="module")
def checker() -> AnswerChecker:
    return AnswerChecker(DEMONSTRATION_ROUTES.description)


def to_answer(answer: httpx.Response) -> Answer:
    headers = {name.title(): value for name, value in answer.headers.items()}
    return Answer(answer.status_code, headers, answer.text, str(answer.request.url))


def send_as_written(stack: dict[str, Any], path: str) -> tuple[int, str]:
    """The answer to a GET whose path no client has changed: its status and its body."""
    url = urlsplit(stack["url"])
    lines = (
        f"GET {url.path}{path} HTTP/1.1",
        f"Host: {url.netloc}",
        f"Authorization: Bearer {stack['tokens']['globex']}",
        "Connection: close",
    )
    with socket.create_connection((url.hostname, url.port), timeout=60) as connection:
        connection.sendall("\r\n".join((*lines, "", "")).encode())
        received = b"".join(iter(lambda: connection.recv(65_536), b""))
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), body.decode()


def test_every_operation_is_answered_as_documented(
    stack: dict[str, Any], checker: AnswerChecker
) -> None:
    """A good request to each."""
    with client(stack, "globex") as api:

        def request(method: str, url: str, body: Any = None, **headers: str) -> Answer:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            content = {"json": body} if body is not None else {}
            return to_answer(send(api, method, url, headers=sent, **content))

        replay = Replay(DEMONSTRATION_ROUTES, checker, request, {"candidate": "a", "song": "x"})
        replay.make_items()
        for operation in sort_by_harm(DEMONSTRATION_ROUTES.all):
            if (operation.method, operation.path) not in checker.reached:
                replay.answer(operation)
    good = [at for at, statuses in checker.reached.items() if min(statuses) < 300]
    assert len(good) > len(DEMONSTRATION_ROUTES.all) * 0.9


def test_unknown_paths_are_answered_with_a_problem(stack: dict[str, Any]) -> None:
    with client(stack, "globex") as api, httpx.Client(base_url=stack["url"]) as nobody:
        for path in ("/nothing", "/docs/nothing"):
            answer = api.get(path)
            assert (answer.status_code, answer.headers["content-type"]) == (404, PROBLEM), path
        assert nobody.get("/").status_code == 200
        assert nobody.get("/nothing").status_code == 401
        forged = nobody.get("/contacts", headers={"authorization": "Bearer forged"})
        assert forged.status_code == 401
        assert nobody.get("/problems/nothing").headers["content-type"] == PROBLEM


def test_ids_are_decoded_once_by_the_gateway(stack: dict[str, Any]) -> None:
    names = ("country", "region", "state", "city")
    place = ("日本", "a#b", "100 $ !", "é ~")
    path = "/places/" + "/".join(quote(each, safe="") for each in place)
    with client(stack, "globex") as api:
        assert api.put(path, json={"population": 1}).is_success
        stored = api.get(path).json()
        assert tuple(stored[name] for name in names) == place
        slashed = dict(zip(names, ("n/a", "%2F", "s", "c"), strict=True))
        api.put("/places", params=slashed, json={"population": 2}).raise_for_status()
        assert slashed.items() <= api.get("/places", params=slashed).json().items()


def test_ids_that_change_on_their_way_are_refused(stack: dict[str, Any]) -> None:
    for path, status in (
        ("/artists/%2E", 422),
        ("/artists/%2e%2E", 422),
        ("/artists/%252e%252e", 422),
        ("/artists/%FF", 400),
        ("/artists/%FE", 400),
        ("/artists/%C3%A9", 404),
        ("/artists/%25FF", 422),
    ):
        answered, body = send_as_written(stack, path)
        assert (answered, json.loads(body)["status"]) == (status, status), path
    with client(stack, "globex") as api:
        for id in (".", "..", "%2e", "a\ufffd", "a/b"):
            order = {"customer": id, "date": "2026-11-21"}
            refused = api.post("/orders", json=order)
            assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "customer")
