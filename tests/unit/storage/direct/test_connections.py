"""A request is sent at once; whatever else a connection sends is sent as before."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from botocore.awsrequest import AWSConnection, AWSPreparedRequest
from botocore.exceptions import HTTPClientError
from botocore.httpsession import URLLib3Session

from daicho.storage.direct.connections import send_at_once


class Handler(BaseHTTPRequestHandler):
    """Answers with the body of the request, or not at all."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if body == b"close":
            self.close_connection = True
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        for name in ("X-A", "X-B"):
            if value := self.headers[name]:
                self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of what is sent to sockets."""
    sizes: list[int] = []
    send = AWSConnection.send

    def record(self: Any, data: Any) -> None:
        sizes.append(len(data))
        send(self, data)

    monkeypatch.setattr(AWSConnection, "send", record)
    return sizes


def open_session() -> URLLib3Session:
    session = URLLib3Session(timeout=5)
    send_at_once(session)
    return session


def make_request(url: str, body: bytes, **headers: Any) -> AWSPreparedRequest:
    given: Any = {"Content-Length": str(len(body)), **headers}
    return AWSPreparedRequest("POST", url, given, body, False, {})


def test_a_request_that_waits_for_100_continue_is_sent_in_two_parts(
    url: str, sizes: list[int]
) -> None:
    session = open_session()
    response = session.send(make_request(url, b"body", Expect=b"100-continue"))
    assert (response.status_code, response.content) == (200, b"body")
    assert len(sizes) == 2
    session.close()


def test_headers_arrive_and_an_invalid_one_is_refused(url: str) -> None:
    session = open_session()
    sent: Any = session.send(make_request(url, b"echo", **{"X-A": "one", "X-B": b"tw\xc3\xb6"}))
    assert (sent.headers["X-A"], sent.headers["X-B"]) == ("one", "tw\xc3\xb6")
    for value in ("a\r\nX-C: b", b"a\nX-C: b"):
        with pytest.raises(HTTPClientError, match="Invalid header value"):
            session.send(make_request(url, b"echo", **{"X-A": value}))
    session.close()
