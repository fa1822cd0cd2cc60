"""CloudFormation gets an answer to each event, whatever happens."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from daicho.errors import UnavailableError
from daicho.handlers.wiring.custom_resource import custom_resource_handler, put_response
from tests.support.stream_pump import Context

EVENT = {
    "RequestType": "Create",
    "ResponseURL": "https://signed",
    "StackId": "stack",
    "RequestId": "request",
    "LogicalResourceId": "Check",
    "ResourceProperties": {"Step": "check"},
}
Answers = list[dict[str, Any]]


def answer(event: Mapping[str, Any], failure: Exception | None = None) -> dict[str, Any]:
    sent: Answers = []

    def work(event: Mapping[str, Any], context: Any) -> dict[str, str]:
        if failure is not None:
            raise failure
        return {"Source": "arn"}

    def put(url: str, body: bytes) -> None:
        assert url == "https://signed"
        sent.append(json.loads(body))

    custom_resource_handler(work, put)(event, Context())
    (only,) = sent
    return only


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (ValueError("why"), "why"),
        (KeyError(), "KeyError"),
        (ValueError("x" * 9000), "x" * 3000),
        (ValueError("台" * 9000), "台" * 1000),
    ],
)
def test_any_failure_is_answered_with_its_reason(failure: Exception, reason: str) -> None:
    answered = answer(EVENT, failure)
    assert (answered["Status"], answered["Reason"]) == ("FAILED", reason)
    assert len(json.dumps(answered, ensure_ascii=False).encode()) < 4096


@pytest.fixture
def received() -> Iterator[tuple[str, list[tuple[str, str, bytes]]]]:
    """The address of a server, and its requests: method, content type, body."""
    requests: list[tuple[str, str, bytes]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            requests.append(("PUT", self.headers["Content-Type"], body))
            self.send_response(403 if self.path == "/expired" else 200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    with http.server.ThreadingHTTPServer(("localhost", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}", requests
        server.shutdown()


def test_the_answer_is_put_with_an_empty_content_type(
    received: tuple[str, list[tuple[str, str, bytes]]],
) -> None:
    address, requests = received
    put_response(f"{address}/signed", b"{}")
    assert requests == [("PUT", "", b"{}")]
    with pytest.raises(UnavailableError, match="403"):
        put_response(f"{address}/expired", b"{}")
